// SPDX-License-Identifier: BSL-1.0
// Where the calling thread's stack lies.
#pragma once

#include "platform/thread_state.hpp"

namespace heapmark::platform {

/// The stack pointer at the program's entry: below it are the main thread's frames, above it the program's arguments.
std::uintptr_t entry_stack_pointer() noexcept;

/// The main thread's stack, from the top the loader saw down to its resource limit, at most 128 MB.
/// Not all of it is mapped, but everything from a live stack pointer up is. Allocates nothing; keeps errno.
StackBounds main_stack() noexcept;

/// Bounds of the calling thread's own stack, also when it runs on another one just now; unknown when the system does
/// not tell. May allocate for threads other than the first: call it under a Guard, when the thread starts. Keeps errno.
StackBounds stack_of_this_thread() noexcept;

} // namespace heapmark::platform
