// SPDX-License-Identifier: BSL-1.0
// Walking until the stack is the same as last time, and looking whether the rest still is.
#include "capture/stack_cache.hpp"

#include "base/frames_hash.hpp"
#include "capture/registers.hpp"

#include <algorithm>

namespace heapmark::capture {
namespace {

using Level = StackCache::Level;
using Check = StackCache::Check;

/// How far a walk looks beyond what was asked for, so that the stack may shrink by so much before it has to look again.
constexpr unsigned look_ahead_frames = 24;
constexpr unsigned fresh_capacity = max_depth_frames + look_ahead_frames;

/// A frame just walked, and where it keeps what its caller goes on with.
struct Fresh {
    std::uint64_t frame;
    std::uintptr_t sp;
    std::uintptr_t fp;
    std::uintptr_t fp_slot; ///< 0: it leaves the frame register alone
    std::uintptr_t sp_slot; ///< of a realigned frame, 0 otherwise
    std::uintptr_t fp_mask; ///< all ones where its own rule uses the frame register
};

enum class End : std::uint8_t { joined, complete, deep_enough, unfit };

struct Walk {
    Fresh fresh[fresh_capacity];
    unsigned fresh_count;
    unsigned joined; ///< index of the level that the walk came to
};

/// Walks by rules until a level of [1, joinable] fits, the stack ends, or it is deep enough: `max_frames`, and then as
/// far as it goes without trouble.
inline End walk(const StackCache& stacks, RuleCache& rules, const Caller& caller, const platform::StackBounds& stack,
                unsigned joinable, unsigned max_frames, std::uint32_t& fills, Walk& result) noexcept
{
    std::uintptr_t pc = caller.pc;
    std::uintptr_t sp = caller.sp;
    std::uintptr_t fp = caller.fp;
    const std::uintptr_t high = stack.high;
    const Level* level = stacks.levels + joinable; // the one that may fit
    for (unsigned n = 0;; ++n) {
        result.fresh_count = n;
        while (level->sp < sp) --level; // ends at level 0, which no frame is as high as
        if (level->sp == sp && (level->frame & frame_address_mask) == pc && ((level->fp ^ fp) & level->fp_mask) == 0) {
            result.joined = static_cast<unsigned>(level - stacks.levels);
            return End::joined;
        }
        if (n == max_frames + look_ahead_frames) [[unlikely]]
            return End::deep_enough;
        const auto stopped = [n, max_frames] { return n < max_frames ? End::unfit : End::deep_enough; };

        CachedRule found = rules.entry_for(pc);
        if ((found.frame & frame_address_mask) != pc) [[unlikely]]
            found = compile_frame(pc, &rules, fills);
        const Rule rule = found.rule;
        if (found.frame >> 48 == 0) [[unlikely]]
            return stopped(); // code of no module may change unnoticed
        Fresh& here = result.fresh[n];
        here.frame = found.frame;
        here.sp = sp;
        here.fp = fp;
        if (rule.is_ordinary()) [[likely]] {
            static_assert(Rule::frame_from_fp == 1);
            here.fp_mask = -(rule.bits & Rule::frame_from_fp);
            here.sp_slot = 0;
            sp = (here.fp_mask != 0 ? fp : sp) + static_cast<std::uintptr_t>(rule.frame_offset());
            if (sp - here.sp - 1 >= high - here.sp) [[unlikely]] // callers lie above, and on the stack
                return stopped();
            // Where it is not saved the word read is the return address.
            const std::uintptr_t saved_at = sp + static_cast<std::uintptr_t>(rule.save_offset());
            if (saved_at < here.sp) [[unlikely]]
                return stopped();
            const std::uintptr_t saved = arch::load_word(saved_at);
            const bool is_saved = (rule.bits & Rule::fp_saved) != 0;
            fp = is_saved ? saved : fp;
            here.fp_slot = is_saved ? saved_at : 0;
        } else if (rule.kind() == Rule::end) {
            result.fresh_count = n + 1;
            here.fp_slot = here.sp_slot = here.fp_mask = 0;
            return End::complete;
        } else if (rule.kind() == Rule::realigned) {
            here.fp_mask = ~std::uintptr_t{0};
            here.sp_slot = fp + static_cast<std::uintptr_t>(rule.frame_offset());
            here.fp_slot = fp + static_cast<std::uintptr_t>(rule.save_offset());
            const std::uintptr_t last_word = high - sizeof(std::uintptr_t);
            if (here.sp_slot < sp || here.sp_slot > last_word || here.fp_slot < sp || here.fp_slot > last_word)
                return stopped();
            sp = arch::load_word(here.sp_slot);
            fp = arch::load_word(here.fp_slot);
            if (sp - here.sp - 1 >= high - here.sp) return stopped();
        } else
            return stopped();
        pc = arch::load_word(sp + static_cast<std::uintptr_t>(std::intptr_t{arch::return_address_offset}));
    }
}

/// Whether levels [first, last] still lead into each other. If not, `changed` is the innermost that does not fit.
inline bool unchanged_levels(const StackCache& stacks, unsigned first, unsigned last, unsigned& changed) noexcept
{
    const Check* const begin = stacks.checks + stacks.levels[first].checks_end;
    const Check* check = stacks.checks + stacks.levels[last].checks_end;
    if (unchanged(begin, check)) [[likely]]
        return true;
    // Which of them differs first. None, where another word was put right meanwhile: then the outermost, to be safe.
    while (check - 1 > begin && difference(check[-1]) == 0) --check;
    const auto index = static_cast<std::uint32_t>(check - 1 - stacks.checks);
    changed = last;
    while (stacks.levels[changed].checks_end > index) --changed; // the check is of the way there
    return false;
}

/// Drops the outermost levels so that `wanted` more fit.
[[gnu::cold, gnu::noinline]] void make_room(StackCache& stacks, unsigned wanted) noexcept
{
    const unsigned dropped = stacks.count + wanted - StackCache::capacity;
    Level* const levels = stacks.levels + 1;
    const std::uint32_t dropped_checks = levels[dropped - 1].checks_end;
    std::copy(stacks.checks + dropped_checks, stacks.checks + levels[stacks.count - 1].checks_end, stacks.checks);
    std::copy(levels + dropped, levels + stacks.count, levels);
    stacks.count -= dropped;
    for (unsigned i = 0; i < stacks.count; ++i) levels[i].checks_end -= dropped_checks;
    stacks.complete = false;
}

/// Puts the frames just walked on top of what is left of the levels.
inline void push(StackCache& stacks, const Walk& walk) noexcept
{
    if (stacks.count + walk.fresh_count > StackCache::capacity) [[unlikely]]
        make_room(stacks, walk.fresh_count);
    // Of a caller that is not known it must be feared that it uses the frame register.
    stacks.levels[0].fp_mask = stacks.complete ? 0 : ~std::uintptr_t{0};
    Level* level = stacks.levels + stacks.count;
    Check* check = stacks.checks + level->checks_end;
    for (unsigned n = walk.fresh_count; n-- > 0;) {
        const Fresh& fresh = walk.fresh[n];
        const Level& outer = *level++;
        // Those of level 1 say nothing and are never looked at.
        *check++ = {outer.sp + static_cast<std::uintptr_t>(std::intptr_t{arch::return_address_offset}),
                    outer.frame & frame_address_mask};
        std::uintptr_t fp_mask = fresh.fp_mask;
        if (outer.fp_mask != 0) {
            if (fresh.fp_slot != 0)
                *check++ = {fresh.fp_slot, outer.fp};
            else
                fp_mask = outer.fp_mask;
        }
        if (fresh.sp_slot != 0) [[unlikely]]
            *check++ = {fresh.sp_slot, outer.sp};
        level->frame = fresh.frame;
        level->sp = fresh.sp;
        level->fp = fresh.fp;
        level->fp_mask = fp_mask;
        level->outer_hash = base::FramesHash::extend(outer.frame, outer.outer_hash);
        level->checks_end = static_cast<std::uint32_t>(check - stacks.checks);
    }
    stacks.count += walk.fresh_count;
}

/// Walks what is new and checks the rest. Returns how many frames count.
inline unsigned refresh_by_rules(StackCache& stacks, RuleCache& rules, const Caller& caller,
                                 const platform::StackBounds& stack, unsigned max_frames) noexcept
{
    const std::uint32_t fills_before = rules.fill_count;
    std::uint32_t fills = 0;
    Walk result;
    unsigned joinable = stacks.count;
    for (unsigned attempt = 0;; ++attempt) {
        if (attempt == 3) joinable = 0; // a stack that changes everywhere is walked afresh
        const End end = walk(stacks, rules, caller, stack, joinable, max_frames, fills, result);
        if (end == End::unfit) [[unlikely]]
            return 0;
        if (end == End::joined) {
            const unsigned known = result.joined;
            const unsigned wanted = std::max(max_frames - std::min(max_frames, result.fresh_count), 1U);
            if (wanted > known && !stacks.complete) [[unlikely]] {
                joinable = 0; // the levels do not reach far enough out
                continue;
            }
            if (!unchanged_levels(stacks, known - std::min(wanted, known) + 1, known, joinable)) [[unlikely]]
                continue;
            stacks.count = known;
        } else {
            stacks.count = 0;
            stacks.complete = end == End::complete;
        }
        push(stacks, result);
        break;
    }
    if (rules.fill_count - fills_before != fills) [[unlikely]] {
        stacks.count = 0; // a handler filled rules meanwhile: the walk may have read half of one
        return 0;
    }
    return std::min(max_frames, stacks.count);
}

} // namespace

Refreshed refresh(StackCache& stacks, RuleCache& rules, const Caller& caller, const platform::StackBounds& stack,
                  unsigned max_frames) noexcept
{
    if (stacks.busy) [[unlikely]]
        return {};
    stacks.busy = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    stacks.levels[0].sp = ~std::uintptr_t{0};
    if (const std::uint32_t epoch = platform::unload_epoch(); stacks.epoch != epoch) [[unlikely]] {
        stacks.count = 0;
        stacks.epoch = epoch;
    }
    Refreshed found{0, 0, ++stacks.refreshes};
    if (caller.sp - stack.low < stack.high - stack.low && !rules.filling) [[likely]] {
        if (rules.epoch != stacks.epoch) [[unlikely]]
            rules.renew(stacks.epoch);
        found.count = refresh_by_rules(stacks, rules, caller, stack, max_frames);
    }
    if (found.count != 0) [[likely]] {
        const Level& top = stacks.levels[stacks.count];
        const Level& outermost = stacks.levels[stacks.count - found.count + 1];
        found.hash = base::FramesHash::cut(base::FramesHash::extend(top.frame, top.outer_hash), outermost.outer_hash,
                                           found.count);
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    stacks.busy = false;
    return found;
}

} // namespace heapmark::capture
