// SPDX-License-Identifier: BSL-1.0
// Walking until the stack is the same as last time, and looking whether the rest still is.
#include "capture/stack_cache.hpp"

#include "base/frames_hash.hpp"
#include "capture/registers.hpp"

#include <algorithm>

namespace heapmark::capture {
namespace {

using Level = StackCache::Level;

/// How far a walk looks beyond what was asked for, so that the stack may shrink by so much before it has to look again.
constexpr unsigned look_ahead_frames = 24;
constexpr unsigned fresh_capacity = max_depth_frames + look_ahead_frames;

/// A frame just walked, and where it keeps what its caller goes on with.
struct Fresh {
    std::uint64_t frame;
    std::uintptr_t sp;
    std::uintptr_t fp;
    std::uintptr_t fp_slot;
    std::uintptr_t sp_slot;
    bool uses_fp;
};

enum class End : std::uint8_t { joined, complete, deep_enough, unfit };

struct Walk {
    Fresh fresh[fresh_capacity];
    unsigned fresh_count;
    unsigned joined; ///< index of the level that the walk came to
};

/// Walks by rules until a level below `joinable` fits, the stack ends, or it is deep enough.
inline End walk(const StackCache& stacks, RuleCache& rules, const Caller& caller, const platform::StackBounds& stack,
                unsigned joinable, unsigned deep_enough, std::uint32_t& fills, Walk& result) noexcept
{
    std::uintptr_t pc = caller.pc;
    std::uintptr_t sp = caller.sp;
    std::uintptr_t fp = caller.fp;
    unsigned candidate = joinable; // one past the level that may fit
    for (unsigned n = 0;; ++n) {
        while (candidate > 0 && stacks.levels[candidate - 1].sp < sp) --candidate;
        if (candidate > 0) {
            const Level& level = stacks.levels[candidate - 1];
            if (level.sp == sp && (level.frame & frame_address_mask) == pc && (!level.needs_fp || level.fp == fp)) {
                result.fresh_count = n;
                result.joined = candidate - 1;
                return End::joined;
            }
        }
        if (n == deep_enough) {
            result.fresh_count = n;
            return End::deep_enough;
        }

        CachedRule found = rules.entry_for(pc);
        if ((found.frame & frame_address_mask) != pc) [[unlikely]]
            found = compile_frame(pc, &rules, fills);
        const Rule rule = found.rule;
        if (found.frame >> 48 == 0) [[unlikely]]
            return End::unfit; // code of no module may change unnoticed
        Fresh& here = result.fresh[n];
        here.frame = found.frame;
        here.sp = sp;
        here.fp = fp;
        std::uintptr_t frame = 0;
        if (rule.is_ordinary()) [[likely]] {
            const bool from_fp = (rule.bits & Rule::frame_from_fp) != 0;
            frame = (from_fp ? fp : sp) + static_cast<std::uintptr_t>(rule.frame_offset());
            here.uses_fp = from_fp;
            here.sp_slot = 0;
            here.fp_slot =
                (rule.bits & Rule::fp_saved) != 0 ? frame + static_cast<std::uintptr_t>(rule.save_offset()) : 0;
        } else if (rule.kind() == Rule::end) {
            result.fresh_count = n + 1;
            here.uses_fp = false;
            here.fp_slot = here.sp_slot = 0;
            return End::complete;
        } else if (rule.kind() == Rule::realigned) {
            here.uses_fp = true;
            here.sp_slot = fp + static_cast<std::uintptr_t>(rule.frame_offset());
            here.fp_slot = fp + static_cast<std::uintptr_t>(rule.save_offset());
            if (here.sp_slot < sp || here.sp_slot > stack.high - sizeof(std::uintptr_t)) return End::unfit;
            frame = arch::load_word(here.sp_slot);
        } else
            return End::unfit;

        if (frame <= sp || frame > stack.high) [[unlikely]]
            return End::unfit;
        if (here.fp_slot != 0) {
            if (here.fp_slot < sp || here.fp_slot > stack.high - sizeof(std::uintptr_t)) [[unlikely]]
                return End::unfit;
            fp = arch::load_word(here.fp_slot);
        }
        pc = arch::load_word(frame + static_cast<std::uintptr_t>(std::intptr_t{arch::return_address_offset}));
        sp = frame;
    }
}

/// Whether levels [first, last) still lead into each other. If not, `changed` is the innermost that does not fit.
inline bool unchanged(const StackCache& stacks, unsigned first, unsigned last, unsigned& changed) noexcept
{
    for (unsigned index = last; index-- > first;) {
        const Level& level = stacks.levels[index];
        const std::uintptr_t pc =
            arch::load_word(level.sp + static_cast<std::uintptr_t>(std::intptr_t{arch::return_address_offset}));
        bool same = pc == (level.frame & frame_address_mask);
        if (level.needs_fp && level.fp_slot != 0) same = same && arch::load_word(level.fp_slot) == level.fp;
        if (level.sp_slot != 0) same = same && arch::load_word(level.sp_slot) == level.sp;
        if (!same) [[unlikely]] {
            changed = index;
            return false;
        }
    }
    return true;
}

/// Drops the outermost levels so that `wanted` more fit.
[[gnu::cold, gnu::noinline]] void make_room(StackCache& stacks, unsigned wanted) noexcept
{
    const unsigned kept = std::min(stacks.count, StackCache::capacity - wanted);
    std::copy(stacks.levels + (stacks.count - kept), stacks.levels + stacks.count, stacks.levels);
    stacks.count = kept;
    stacks.complete = false;
}

/// Puts the frames just walked on top of what is left of the levels.
inline void push(StackCache& stacks, const Walk& walk) noexcept
{
    if (stacks.count + walk.fresh_count > StackCache::capacity) [[unlikely]]
        make_room(stacks, walk.fresh_count);
    Level* outer = stacks.count == 0 ? nullptr : &stacks.levels[stacks.count - 1];
    // Of a caller that is not known it must be feared that it uses the frame register.
    bool needs_fp = outer == nullptr ? !stacks.complete : outer->needs_fp;
    std::uint64_t hash = outer == nullptr ? 0 : outer->hash;
    for (unsigned n = walk.fresh_count; n-- > 0;) {
        const Fresh& fresh = walk.fresh[n];
        if (outer != nullptr) {
            outer->fp_slot = fresh.fp_slot;
            outer->sp_slot = fresh.sp_slot;
        }
        needs_fp = fresh.uses_fp || (fresh.fp_slot == 0 && needs_fp);
        hash = base::FramesHash::extend(fresh.frame, hash);
        outer = &stacks.levels[stacks.count++];
        *outer = {fresh.frame, fresh.sp, fresh.fp, hash, 0, 0, needs_fp};
    }
}

unsigned refresh_alone(StackCache& stacks, RuleCache& rules, const Caller& caller, const platform::StackBounds& stack,
                       unsigned max_frames, std::uint32_t& fills) noexcept
{
    Walk result;
    unsigned joinable = stacks.count;
    for (unsigned attempt = 0;; ++attempt) {
        if (attempt == 3) joinable = 0; // a stack that changes everywhere is walked afresh
        const End end = walk(stacks, rules, caller, stack, joinable, max_frames + look_ahead_frames, fills, result);
        if (end == End::unfit) [[unlikely]]
            return 0;
        if (end == End::joined) {
            const unsigned known = result.joined + 1;
            const unsigned wanted = max_frames - std::min(max_frames, result.fresh_count);
            if (wanted > known && !stacks.complete) [[unlikely]] {
                joinable = 0; // the levels do not reach far enough out
                continue;
            }
            unsigned changed = 0;
            if (!unchanged(stacks, known - std::min(wanted, known), result.joined, changed)) [[unlikely]] {
                joinable = changed;
                continue;
            }
            stacks.count = known;
        } else {
            stacks.count = 0;
            stacks.complete = end == End::complete;
        }
        push(stacks, result);
        return std::min(max_frames, stacks.count);
    }
}

} // namespace

unsigned refresh(StackCache& stacks, RuleCache& rules, const Caller& caller, const platform::StackBounds& stack,
                 unsigned max_frames, std::uint64_t& hash) noexcept
{
    if (caller.sp - stack.low >= stack.high - stack.low || stacks.busy || rules.filling) [[unlikely]]
        return 0;
    stacks.busy = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (const std::uint32_t epoch = platform::unload_epoch(); rules.epoch != epoch || stacks.epoch != epoch)
        [[unlikely]] {
        if (rules.epoch != epoch) rules.renew(epoch);
        stacks.count = 0;
        stacks.epoch = epoch;
    }
    const std::uint32_t fills_before = rules.fill_count;
    std::uint32_t fills = 0;
    unsigned count = refresh_alone(stacks, rules, caller, stack, max_frames, fills);
    if (rules.fill_count - fills_before != fills) [[unlikely]] {
        stacks.count = 0; // a handler filled rules meanwhile: the walk may have read half of one
        count = 0;
    }
    if (count != 0) {
        const Level* top = &stacks.levels[stacks.count - 1];
        hash = stacks.count > count ? base::FramesHash::cut(top->hash, (top - count)->hash, count) : top->hash;
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    stacks.busy = false;
    return count;
}

} // namespace heapmark::capture
