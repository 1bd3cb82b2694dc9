// SPDX-License-Identifier: BSL-1.0
// Exit handlers run in reverse order, destructors of static objects among them, and the loader's call of library
// destructors is one too, registered after the constructors of libraries and before main (glibc's csu/libc-start.c).
// A handler registered at the first allocation of the process so comes after practically all of them.
#include "platform/process_end.hpp"

#include <atomic>

extern "C" int __cxa_atexit(void (*)(void*), void*, void*) noexcept; // Itanium C++ ABI 3.3.6.3
extern "C" int __cxa_at_quick_exit(void (*)(void*), void*) noexcept; // glibc's stdlib/cxa_at_quick_exit.c

namespace heapmark::platform {
namespace {

void process_ends(void*)
{
    if (at_process_end != nullptr) at_process_end();
}

} // namespace

constinit EndFunction at_process_end = nullptr;
constinit LeaveFunction at_process_leave = nullptr;

void watch_process_end() noexcept
{
    static constinit std::atomic_flag registered;
    // No module handle: the handler must stay until exit, even if the module that holds it is said to be unloaded.
    if (registered.test_and_set(std::memory_order_relaxed)) return;
    __cxa_atexit(process_ends, nullptr, nullptr);
    __cxa_at_quick_exit(process_ends, nullptr);
}

} // namespace heapmark::platform
