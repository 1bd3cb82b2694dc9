// SPDX-License-Identifier: BSL-1.0
// The general unwinder: every register, every rule, no cache. For stacks with a frame that compact rules cannot tell.
#pragma once

#include "capture/capture.hpp"
#include "capture/expression.hpp"

namespace heapmark::capture {

/// As capture_stack. Begins at its own frame, to have the registers that `caller` lacks, and so gives 0 when `caller`
/// is not a frame below which it runs.
unsigned capture_fully(const Caller& caller, const platform::StackBounds& stack, std::uint64_t* frames,
                       unsigned max_frames) noexcept;

} // namespace heapmark::capture
