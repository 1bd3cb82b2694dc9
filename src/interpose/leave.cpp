// SPDX-License-Identifier: BSL-1.0
// _exit and _Exit: the process ends without any handler, so what it would have said at exit is said to be missing. May be
// called in signal handlers, and in the child of vfork, which writes to its parent's memory.
#include "interpose/anchors.hpp"
#include "interpose/real_function.hpp"

#include "platform/process_end.hpp"

#include <cstdlib>
#include <unistd.h>

namespace heapmark::interpose {

const char leave_anchor = 0;

namespace {

using Leave = void(int);

[[noreturn]] void leave(RealFunction<Leave>& real, const char* name, int status)
{
    if (platform::at_process_leave != nullptr) platform::at_process_leave(name);
    real.get()(status);
    __builtin_unreachable();
}

} // namespace

} // namespace heapmark::interpose

// Weak: a test of code for small machines may bring its own.
extern "C" [[gnu::weak]] HEAPMARK_EXPORT void _exit(int status)
{
    static constinit heapmark::interpose::RealFunction<void(int)> real("_exit");
    heapmark::interpose::leave(real, "_exit", status);
}

extern "C" [[gnu::weak]] HEAPMARK_EXPORT void _Exit(int status) noexcept
{
    static constinit heapmark::interpose::RealFunction<void(int)> real("_Exit");
    heapmark::interpose::leave(real, "_Exit", status);
}
