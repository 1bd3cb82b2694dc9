// SPDX-License-Identifier: BSL-1.0
// The signal that stops a thread, and what happens in the thread that gets it.
#pragma once

#include "platform/stop_world.hpp"

#include <atomic>
#include <cstdint>

namespace heapmark::platform {

/// What a stopped thread leaves for the one that stopped it.
struct StopAnswer {
    std::atomic<std::uint32_t> round; ///< that the context belongs to; 0 never does
    ThreadContext context;
};

/// Starts a round: from now on threads that get the signal stop. False without memory, when a thread has still not left
/// the round before, or when no signal can be had.
bool begin_stop_round(std::uint64_t limit_ns) noexcept;

enum class AskResult : std::uint8_t { asked, gone, busy, refused };
AskResult ask_to_stop(int system_id) noexcept;

/// How many threads have claimed an answer in this round; not all may be written yet.
std::uint32_t answers_begun() noexcept;

/// The answer of that index when it is whole; nullptr otherwise.
const StopAnswer* stop_answer(std::uint32_t index) noexcept;

/// Sleeps until another answer is there than `known`, at most that long.
void await_answer(std::uint32_t known, std::uint64_t limit_ns) noexcept;

/// Lets everybody go. `all_answered`: no signal is under way any more, so its handler can be taken away.
void end_stop_round(bool all_answered) noexcept;

} // namespace heapmark::platform
