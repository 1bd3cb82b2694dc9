// SPDX-License-Identifier: BSL-1.0
// How marks and signals call the threads that take readings for a GrowthWatch.
#pragma once

#include <atomic>
#include <cstdint>

namespace heapmark {

/// Watches that read at marks: mark() calls only where there are any.
inline constinit std::atomic<std::uint32_t> watches_of_marks{0};

/// Grows with each call; what a reading thread waits for.
inline constinit std::atomic<std::uint32_t> reading_calls{0};

/// Has all reading threads look for what they are to do. Async-signal-safe: a counter and a futex.
void call_readers() noexcept;

/// Waits until `reading_calls` is not `seen` any more, `limit_ns` at most; 0: without end. May return early.
void await_reading_call(std::uint32_t seen, std::uint64_t limit_ns) noexcept;

/// Has the signal call the readers, in place of what it did, until give_back_signal(). False: the system refuses.
bool take_signal(int signal) noexcept;
void give_back_signal(int signal) noexcept;

/// How often it has come.
std::uint32_t signal_count(int signal) noexcept;

} // namespace heapmark
