// SPDX-License-Identifier: BSL-1.0
// Pages by raw system calls, so that an override of mmap is never entered.
#include "platform/pages.hpp"

#include "platform/raw_syscall.hpp"

#include <atomic>
#include <sys/mman.h>
#include <sys/syscall.h>

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
    const auto size = static_cast<long>(bytes);
    const long address =
        raw_syscall(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address < 0 && address > -4096) return nullptr;
    raw_syscall(SYS_madvise, address, size, MADV_DONTDUMP);
    // A huge page would make one touched entry cost two megabytes.
    raw_syscall(SYS_madvise, address, size, MADV_NOHUGEPAGE);
    return reinterpret_cast<void*>(address); // NOLINT(performance-no-int-to-ptr): what the system call returns
}

void unmap_pages(void* pages, std::size_t bytes) noexcept
{
#ifdef HEAPMARK_SANITIZED // by this function ThreadSanitizer learns that what comes to lie there is something new
    ::munmap(pages, bytes);
#else
    raw_syscall(SYS_munmap, reinterpret_cast<long>(pages), static_cast<long>(bytes));
#endif
}

void touch_pages(void* pages, std::size_t bytes) noexcept
{
    constexpr long populate_write = 23; // MADV_POPULATE_WRITE, Linux 5.14; others refuse it
    raw_syscall(SYS_madvise, reinterpret_cast<long>(pages), static_cast<long>(bytes), populate_write);
}

void prefer_huge_pages(void* pages, std::size_t bytes) noexcept
{
    raw_syscall(SYS_madvise, reinterpret_cast<long>(pages), static_cast<long>(bytes), MADV_HUGEPAGE);
}

void limit_page_requests_for_test(std::int64_t count) noexcept
{
    requests_left.store(count, std::memory_order_relaxed);
}

} // namespace heapmark::platform
