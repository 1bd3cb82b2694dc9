// SPDX-License-Identifier: BSL-1.0
// The stack that a thread's last capture saw, as far as it may be the same next time.
//
// Between two allocations most of a stack stays as it was: only the innermost frames change. So a walk goes by rules,
// each of which waits for the one before, only until it meets a frame that was there last time with the same stack
// pointer. From there on it is enough to look whether the return addresses are still where they were: loads from known
// addresses, which do not wait for each other. The hash of the frames is kept level by level, so that it too is made
// only for what is new.
#pragma once

#include "capture/capture.hpp"
#include "capture/registers.hpp"
#include "capture/rule_cache.hpp"

namespace heapmark::capture {

struct StackCache {
    static constexpr unsigned capacity = 96;

    /// A frame of the stack; the outermost is at index 1. Level 0 stands for what is outside it: above all, no frame.
    struct Level {
        std::uint64_t frame; ///< Frame::bits: where this frame goes on when its callee returns
        std::uintptr_t sp;   ///< its stack pointer then; the word below it holds the return address
        std::uintptr_t fp;   ///< its frame register then
        std::uintptr_t
            fp_mask; ///< all ones where the way out from here uses the frame register; else 0, and fp is void
        std::uint64_t outer_hash; ///< FramesHash of the frames outside this one
        std::uint32_t checks_end; ///< one past the last of its checks, which lie behind those of the frames outside
    };

    /// A word that the frame outside a level is found by: while all of them stay, so do the frames.
    struct Check {
        std::uintptr_t address;
        std::uintptr_t value;
    };

    bool busy;               ///< a handler that interrupts must leave the rest alone
    bool complete;           ///< level 1 has no caller
    std::uint32_t epoch;     ///< of unloading, that all is valid for
    std::uint32_t refreshes; ///< so far
    std::uint32_t count;     ///< of levels
    Level levels[capacity + 1];
    Check checks[capacity * 3]; ///< return address, and where they are needed frame register and stack pointer
};

/// Whether a word is not what it was, told so that several can be told together.
inline std::uintptr_t difference(const StackCache::Check& check) noexcept
{
    return arch::load_word(check.address) ^ check.value;
}

/// Whether every word of [first, last) is what it was. Four at a time: the loads do not wait for each other, nor for a
/// branch after each. The inner frames, which lie at the end, come first: they change more often.
inline bool unchanged(const StackCache::Check* first, const StackCache::Check* last) noexcept
{
    while (last - first >= 4) {
        last -= 4;
        if ((difference(last[3]) | difference(last[2]) | difference(last[1]) | difference(last[0])) != 0) [[unlikely]]
            return false;
    }
    while (last != first)
        if (difference(*--last) != 0) [[unlikely]]
            return false;
    return true;
}

/// The stack that refresh() has found.
struct Refreshed {
    unsigned count;          ///< frames, from levels[StackCache::count] outward
    std::uint64_t hash;      ///< their FramesHash
    std::uint32_t refreshes; ///< StackCache::refreshes: while it is the same, so are the levels
};

/// Brings the cache up to date with the stack at `caller`, at least `max_frames` deep. Returns how many frames count;
/// 0 where the general walk is needed: on stacks other than the thread's own, through signal frames and the like, and
/// where a handler interrupted.
Refreshed refresh(StackCache& stacks, RuleCache& rules, const Caller& caller, const platform::StackBounds& stack,
                  unsigned max_frames) noexcept;

} // namespace heapmark::capture
