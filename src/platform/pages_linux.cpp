// SPDX-License-Identifier: BSL-1.0
// Pages by raw system calls, so that an override of mmap is never entered.
#include "platform/pages.hpp"

#include <atomic>
#include <cerrno>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace heapmark::platform {
namespace {

constinit std::atomic<std::int64_t> requests_left{-1};

bool request_allowed() noexcept
{
    std::int64_t left = requests_left.load(std::memory_order_relaxed);
    while (left > 0 && !requests_left.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {}
    return left != 0;
}

} // namespace

void* map_pages(std::size_t bytes) noexcept
{
    if (!request_allowed()) return nullptr;
    const int saved_errno = errno;
    const long address =
        syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
    void* pages = nullptr;
    if (address != -1) {
        pages = reinterpret_cast<void*>(address); // NOLINT(performance-no-int-to-ptr): what the system call returns
        syscall(SYS_madvise, pages, bytes, MADV_DONTDUMP);
        // A huge page would make one touched entry cost two megabytes.
        syscall(SYS_madvise, pages, bytes, MADV_NOHUGEPAGE);
    }
    errno = saved_errno;
    return pages;
}

void unmap_pages(void* pages, std::size_t bytes) noexcept
{
    const int saved_errno = errno;
    syscall(SYS_munmap, pages, bytes);
    errno = saved_errno;
}

void limit_page_requests_for_test(std::int64_t count) noexcept
{
    requests_left.store(count, std::memory_order_relaxed);
}

} // namespace heapmark::platform
