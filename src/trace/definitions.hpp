// SPDX-License-Identifier: BSL-1.0
// What the numbers in records mean: each stack and each module once in a trace.
#pragma once

#include "platform/thread_state.hpp"
#include "record/depot.hpp"

namespace heapmark::trace {

/// Writes the stack, and the modules of its frames, unless the trace has them. Other threads' records may name it a
/// moment before it is written.
void define_site(platform::ThreadState& thread, std::uint32_t site) noexcept;

} // namespace heapmark::trace
