// SPDX-License-Identifier: BSL-1.0
// A last word when the process ends through exit() or quick_exit(), after the destructors of the program and of its
// libraries, and a shorter one when it leaves by _exit().
#pragma once

namespace heapmark::platform {

/// What is called then; to be set before main. Not called by _exit, signals or exec.
using EndFunction = void (*)();
extern constinit EndFunction at_process_end;

/// What is called before _exit or _Exit, with that name: in any thread, in signal handlers and in the child of vfork.
using LeaveFunction = void (*)(const char* by) noexcept;
extern constinit LeaveFunction at_process_leave;

/// Registers the last word: the earlier in the process, the later it is called. The first call counts.
void watch_process_end() noexcept;

} // namespace heapmark::platform
