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
#include "capture/rule_cache.hpp"

namespace heapmark::capture {

struct StackCache {
    static constexpr unsigned capacity = 96;

    /// A frame of the stack; the outermost is at index 0.
    struct Level {
        std::uint64_t frame;    ///< Frame::bits: where this frame goes on when its callee returns
        std::uintptr_t sp;      ///< its stack pointer then; the word below it holds the return address
        std::uintptr_t fp;      ///< its frame register then; told only where needs_fp
        std::uint64_t hash;     ///< FramesHash of this frame and those outside it
        std::uintptr_t fp_slot; ///< where the next inner frame keeps that frame register; 0: it leaves it alone
        std::uintptr_t
            sp_slot;   ///< where the next inner frame, a realigned one, keeps that stack pointer; 0: it does not
        bool needs_fp; ///< the way out from here uses the frame register
    };

    std::uint32_t epoch; ///< of unloading, that the levels are valid for
    std::uint32_t count;
    bool complete; ///< level 0 has no caller
    bool busy;     ///< a handler that interrupts must leave the levels alone
    Level levels[capacity];
};

/// Brings the cache up to date with the stack at `caller`, at least `max_frames` deep. Returns how many frames count,
/// from levels[count - 1] outward, and their FramesHash in `hash`; 0 where the general walk is needed: on stacks other
/// than the thread's own, through signal frames and the like, and where a handler interrupted.
unsigned refresh(StackCache& stacks, RuleCache& rules, const Caller& caller, const platform::StackBounds& stack,
                 unsigned max_frames, std::uint64_t& hash) noexcept;

} // namespace heapmark::capture
