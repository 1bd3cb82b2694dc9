// SPDX-License-Identifier: BSL-1.0
// The threads that heapmark knows to be there, with what a search for holders must know of each.
//
// Slots in a table, not a list behind a lock: the search stops threads wherever they are, in here too, and must find
// everything whole. A slot is claimed and given back by compare-and-swap; nothing has to be repaired after fork.
#pragma once

#include "platform/thread_state.hpp"

#include <atomic>
#include <cstdint>

namespace heapmark::platform {

struct LiveThread {
    std::atomic<int> process;   ///< that claimed the slot; 0: free. Others' slots are left over from before a fork
    std::atomic<int> system_id; ///< of gettid; 0 until the thread runs
    std::atomic<std::uint32_t> thread; ///< ThreadId
    std::atomic<void*> argument;       ///< what the thread's function was called with
    std::atomic<std::uintptr_t> stack_low;
    std::atomic<std::uintptr_t> stack_high;
    std::atomic<std::uint32_t> next_free; ///< index, in the chain of free slots
};

using LiveThreadIndex = std::uint32_t; ///< 0: none

/// A slot for a thread that is about to start with that argument; 0 when there is none. Lock-free; async-signal-safe.
LiveThreadIndex claim_live_thread(void* argument) noexcept;

/// Called by the thread itself.
void begin_live_thread(LiveThreadIndex index, std::uint32_t thread, StackBounds stack) noexcept;

void release_live_thread(LiveThreadIndex index) noexcept;

/// The slot of an index, free or not; nullptr beyond the last one ever claimed.
LiveThread* live_thread(LiveThreadIndex index) noexcept;

} // namespace heapmark::platform
