// SPDX-License-Identifier: BSL-1.0
// Stack bounds from the loader, the resource limit and the thread library.
#include "platform/stack_bounds.hpp"

#include "platform/raw_syscall.hpp"

#include <algorithm>
#include <cerrno>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>

extern "C" {
// Exported by ld.so, and part of libc.a.
extern void* __libc_stack_end; // NOLINT(bugprone-reserved-identifier)
}

namespace heapmark::platform {

std::uintptr_t entry_stack_pointer() noexcept { return reinterpret_cast<std::uintptr_t>(__libc_stack_end); }

StackBounds main_stack() noexcept
{
    // The kernel keeps at least 128 MB below the stack free of other mappings (mmap_base, arch/x86/mm/mmap.c).
    constexpr std::uintptr_t largest = std::uintptr_t{128} << 20;
    constexpr std::uintptr_t page_bytes = 4096;
    const std::uintptr_t entry = entry_stack_pointer();
    if (entry == 0) return {};
    std::uintptr_t bytes = largest;
    std::uint64_t limit[2]; // struct rlimit64: soft, hard
    if (raw_syscall(SYS_prlimit64, 0, RLIMIT_STACK, 0, reinterpret_cast<long>(limit)) == 0)
        bytes = std::min<std::uintptr_t>(largest, limit[0]);
    // The rest of the entry page holds argc, argv or the environment, so it is mapped too.
    const std::uintptr_t high = (entry + page_bytes) & ~(page_bytes - 1);
    return {high - std::min(bytes, high), high};
}

StackBounds stack_of_this_thread() noexcept
{
    // Not by thread id: a child forked by another thread has the main thread's id and that thread's stack.
    const StackBounds main = main_stack();
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (here >= main.low && here < main.high) return main;

    const int saved_errno = errno;
    StackBounds bounds;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void* low = nullptr;
        std::size_t bytes = 0;
        if (pthread_attr_getstack(&attributes, &low, &bytes) == 0 && low != nullptr) {
            bounds.low = reinterpret_cast<std::uintptr_t>(low);
            bounds.high = bounds.low + bytes;
        }
        pthread_attr_destroy(&attributes);
    }
    errno = saved_errno;
    return bounds;
}

} // namespace heapmark::platform
