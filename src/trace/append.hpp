// SPDX-License-Identifier: BSL-1.0
// One record into the trace, for the other files of this room.
#pragma once

#include "platform/thread_state.hpp"

#include <array>
#include <cstdint>

namespace heapmark::trace {

using Words = std::array<std::uint64_t, 3>;

/// False when there was no space: then it is counted as dropped.
bool append(platform::ThreadState& thread, const Words& words) noexcept;

/// Grows with each trace; from 1.
std::uint32_t trace_number() noexcept;

} // namespace heapmark::trace
