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

/// Which function's frame holds the stack word at `address`, of a thread that stands still; as Frame::bits, 0 when that
/// cannot be told. `registers`: at its next instruction, in the numbering of unwind tables, where `returns_there` at the
/// instruction behind a call. `in_use_from`: where its innermost frame begins.
std::uint64_t frame_that_holds(std::uintptr_t address, const RegisterFile& registers, bool returns_there,
                               std::uintptr_t in_use_from, const platform::StackBounds& stack) noexcept;

} // namespace heapmark::capture
