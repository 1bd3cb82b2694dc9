// SPDX-License-Identifier: BSL-1.0
// A last word when the process ends through exit(), after the destructors of the program and of its libraries.
#pragma once

namespace heapmark::platform {

/// What is called then; to be set before main. Not called by _exit, quick_exit, signals or exec.
using EndFunction = void (*)();
extern constinit EndFunction at_process_end;

/// Registers the last word: the earlier in the process, the later it is called. The first call counts.
void watch_process_end() noexcept;

} // namespace heapmark::platform
