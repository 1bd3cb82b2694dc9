// SPDX-License-Identifier: BSL-1.0
// Front of the room: what the overridden functions and the API call while a trace is written. A thread writes into a piece
// of the file that it has mapped for itself, so there is no buffer to flush and none to lose: what is written is there
// even when the process is killed. Waiting for the disk is the page fault's business.
#pragma once

#include "platform/slow_paths.hpp"
#include "platform/thread_state.hpp"

#include <cstddef>
#include <cstdint>

namespace heapmark::trace {

[[nodiscard]] inline bool is_written() noexcept
{
    return (platform::slow_reasons.load(std::memory_order_relaxed) & platform::tracing) != 0;
}

// Async-signal-safe; no heap, no lock. After the allocator returned:
void write_allocation(platform::ThreadState& thread, const void* block, std::size_t requested_bytes, std::uint32_t site,
                      bool was_resized) noexcept;
void write_failed_resize(platform::ThreadState& thread) noexcept;
// Before the memory is handed back:
void write_release(platform::ThreadState& thread, const void* block, std::uint32_t site, bool is_right) noexcept;
void write_resize(platform::ThreadState& thread, const void* block, std::uint32_t site) noexcept;

/// Gives the thread's piece of the file to another thread.
void end_thread() noexcept;

/// Starts a trace, after stopping one that is written. Returns an errno value or 0. One thread at a time; not for signal
/// handlers.
int start(const char* pattern) noexcept;
void stop() noexcept;

/// The first call starts what HEAPMARK_OPTIONS asks for.
void follow_options() noexcept;

/// Records that were not written into the present or last trace.
[[nodiscard]] std::uint64_t dropped_count() noexcept;

} // namespace heapmark::trace
