// SPDX-License-Identifier: BSL-1.0
#include "platform/bare_threads.hpp"

#include "platform/pages.hpp"
#include "platform/raw_syscall.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <span>
#include <sys/syscall.h>

namespace heapmark::platform {
namespace {

struct Start {
    void (*work)(void*);
    void* argument;
};

/// The C library's clone() ends the thread when this returns.
int run(void* start)
{
    const Start what = *static_cast<Start*>(start);
    what.work(what.argument);
    return 0;
}

/// Threads of the whole system that run or could: the fourth field of /proc/loadavg, "0.20 0.18 0.12 1/80 11206".
unsigned runnable_threads() noexcept
{
    char text[64] = {};
    const long file = raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/loadavg"), O_RDONLY | O_CLOEXEC);
    if (file < 0) return ~0U;
    raw_syscall(SYS_read, file, reinterpret_cast<long>(text), sizeof text - 1);
    raw_syscall(SYS_close, file);
    const char* field = text;
    for (int spaces = 0; *field != '\0' && spaces < 3; ++field) spaces += *field == ' ' ? 1 : 0;
    unsigned count = 0;
    for (; *field >= '0' && *field <= '9'; ++field) count = count * 10 + static_cast<unsigned>(*field - '0');
    return count == 0 ? ~0U : count;
}

} // namespace

unsigned idle_processors() noexcept
{
    std::uint64_t mask[16] = {}; // of 1,024 processors
    const long bytes = raw_syscall(SYS_sched_getaffinity, 0, sizeof mask, reinterpret_cast<long>(mask));
    unsigned count = 0;
    for (const std::uint64_t word : mask) count += static_cast<unsigned>(std::popcount(word));
    const unsigned busy = runnable_threads(); // this one among them
    return bytes > 0 && count > busy ? count - busy : 0;
}

BareThreads::BareThreads(unsigned wanted, void (*work)(void* argument), void* argument) noexcept
{
    constexpr int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                          CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
#ifdef HEAPMARK_SANITIZED // whose code in every function uses thread-local storage
    wanted = 0;
#endif
    for (wanted = std::min(wanted, most); count_ < wanted; ++count_) {
        Thread& thread = threads_[count_];
        thread.stack = map_pages(stack_bytes);
        if (thread.stack == nullptr) return;
        char* const top = static_cast<char*>(thread.stack) + stack_bytes - sizeof(Start);
        *reinterpret_cast<Start*>(top) = {work, argument};
        if (clone(run, top, flags, top, &thread.running, nullptr, &thread.running) < 0) {
            unmap_pages(thread.stack, stack_bytes);
            return;
        }
    }
}

BareThreads::~BareThreads()
{
    for (Thread& thread : std::span(threads_, count_)) {
        for (int running = __atomic_load_n(&thread.running, __ATOMIC_ACQUIRE); running != 0;
             running = __atomic_load_n(&thread.running, __ATOMIC_ACQUIRE))
            raw_syscall(SYS_futex, reinterpret_cast<long>(&thread.running), FUTEX_WAIT, running, 0);
        unmap_pages(thread.stack, stack_bytes);
    }
}

} // namespace heapmark::platform
