// SPDX-License-Identifier: BSL-1.0
// capture_stack by unwind tables: a loop over cached eight-byte rules, and what to do where one does not suffice.
#include "capture/capture.hpp"

#include "capture/full_unwind.hpp"
#include "capture/registers.hpp"
#include "capture/rule_cache.hpp"
#include "capture/stack_window.hpp"

namespace heapmark::capture {

const std::size_t rule_cache_bytes = sizeof(RuleCache);

namespace {

struct Walk {
    std::uintptr_t pc;
    std::uintptr_t sp;
    std::uintptr_t fp;
    StackWindow window;
};

enum class Next : std::uint8_t { go_on, stop, walk_fully };

/// The step over a frame that is not ordinary.
[[gnu::cold, gnu::noinline]] Next step_specially(Walk& walk, Rule rule) noexcept
{
    constexpr std::uintptr_t word = sizeof(std::uintptr_t);
    if (rule.kind() == Rule::complex) return Next::walk_fully;
    if (rule.kind() == Rule::realigned) {
        const std::uintptr_t at = walk.fp + static_cast<std::uintptr_t>(rule.frame_offset());
        const std::uintptr_t saved_at = walk.fp + static_cast<std::uintptr_t>(rule.save_offset());
        if (!walk.window.admits(at, at + word) || !walk.window.admits(saved_at, saved_at + word)) return Next::stop;
        const std::uintptr_t frame = arch::load_word(at);
        const std::uintptr_t fp = arch::load_word(saved_at);
        if (frame <= walk.sp || !walk.window.admits(frame - word, frame)) return Next::stop;
        walk.pc = arch::load_word(frame - word);
        walk.sp = frame;
        walk.fp = fp;
        return Next::go_on;
    }
    if (rule.kind() == Rule::signal_frame) {
        const std::uintptr_t saved = walk.sp + arch::signal_frame_fp_offset;
        if (!walk.window.admits(saved, walk.sp + arch::signal_frame_pc_offset + word)) return Next::stop;
        walk.fp = arch::load_word(saved);
        walk.pc = arch::load_word(walk.sp + arch::signal_frame_pc_offset) + 1; // one less is looked up
        walk.sp = arch::load_word(walk.sp + arch::signal_frame_sp_offset);
        walk.window.enter(walk.sp); // the handler may have had a stack of its own
        return Next::go_on;
    }
    return Next::stop;
}

/// The fast walk. Returns how many frames; `next` is walk_fully when the stack goes on past them.
inline unsigned walk_by_rules(const Caller& caller, const platform::StackBounds& stack, RuleCache* cache,
                              std::uint64_t* frames, unsigned max_frames, Next& next, std::uint32_t& fills) noexcept
{
    // In registers, and in a Walk only for the steps that are rare: each frame waits for the one before.
    std::uintptr_t pc = caller.pc;
    std::uintptr_t sp = caller.sp;
    std::uintptr_t fp = caller.fp;
    StackWindow window(stack);
    window.enter(sp);
    next = Next::stop;
    unsigned count = 0;
    while (count < max_frames) {
        CachedRule found{};
        if (cache != nullptr) found = cache->entry_for(pc);
        if ((found.frame & frame_address_mask) != pc || cache == nullptr) [[unlikely]]
            found = compile_frame(pc, cache, fills);
        const Rule rule = found.rule;
        if (!rule.is_ordinary()) [[unlikely]] {
            if (rule.kind() == Rule::none) break;
            frames[count++] = found.frame;
            Walk walk{pc, sp, fp, window};
            next = step_specially(walk, rule);
            if (next != Next::go_on) return count;
            pc = walk.pc;
            sp = walk.sp;
            fp = walk.fp;
            window = walk.window;
            continue;
        }
        frames[count++] = found.frame;
        const std::uintptr_t base = (rule.bits & Rule::frame_from_fp) != 0 ? fp : sp;
        const std::uintptr_t frame = base + static_cast<std::uintptr_t>(rule.frame_offset());
        const std::uintptr_t saved_at = frame + static_cast<std::uintptr_t>(rule.save_offset());
        // Callers lie above; save_offset() is never above the return address, so these two bound both reads.
        if (frame <= sp || !window.admits(saved_at, frame)) [[unlikely]]
            break;
        const std::uintptr_t saved = arch::load_word(saved_at);
        pc = arch::load_word(frame + static_cast<std::uintptr_t>(std::intptr_t{arch::return_address_offset}));
        fp = (rule.bits & Rule::fp_saved) != 0 ? saved : fp;
        sp = frame;
    }
    next = Next::stop;
    return count;
}

} // namespace

unsigned capture_stack(const Caller& caller, const platform::StackBounds& stack, RuleCache* cache,
                       std::uint64_t* frames, unsigned max_frames) noexcept
{
    Next next = Next::stop;
    unsigned count = 0;
    std::uint32_t fills = 0;
    bool done = false;
    if (cache != nullptr && !cache->filling) [[likely]] { // filling: a handler that interrupted it
        if (const std::uint32_t epoch = platform::unload_epoch(); cache->epoch != epoch) [[unlikely]]
            cache->renew(epoch);
        const std::uint32_t fills_before = cache->fill_count;
        count = walk_by_rules(caller, stack, cache, frames, max_frames, next, fills);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        // Otherwise a handler has filled entries in the middle, and the walk may have read half of one.
        done = cache->fill_count - fills_before == fills;
    }
    if (!done) [[unlikely]]
        count = walk_by_rules(caller, stack, nullptr, frames, max_frames, next, fills);
    if (next == Next::walk_fully && count < max_frames) [[unlikely]] {
        const unsigned full_count = capture_fully(caller, stack, frames, max_frames);
        if (full_count > count) count = full_count;
    }
    return count;
}

} // namespace heapmark::capture
