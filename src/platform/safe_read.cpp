// SPDX-License-Identifier: BSL-1.0
// Probes pages by letting the kernel copy from them.
#include "platform/safe_read.hpp"

#include "platform/raw_syscall.hpp"

#include <cerrno>
#include <cstdint>
#include <sys/syscall.h>

namespace heapmark::platform {
namespace {

// The smallest page size: on systems with larger ones a page is only probed more than once.
constexpr std::uintptr_t page_bytes = 4096;

bool page_readable(std::uintptr_t page) noexcept
{
    // rt_sigprocmask copies the new set from user memory before it looks at `how` (Linux kernel/signal.c), so an
    // invalid `how` changes nothing and answers EFAULT or EINVAL. Anything else, from a filter say, counts as "no".
    constexpr long no_such_how = 0x7eadbee;
    constexpr long kernel_sigset_bytes = 8;
    return raw_syscall(SYS_rt_sigprocmask, no_such_how, static_cast<long>(page), 0, kernel_sigset_bytes) == -EINVAL;
}

/// Byte by byte, and unknown to sanitizers: what is read may surround a variable.
__attribute__((no_sanitize("address", "thread"))) void copy_bytes(const void* from, void* to,
                                                                  std::size_t bytes) noexcept
{
    const auto* source = static_cast<const volatile unsigned char*>(from);
    auto* target = static_cast<unsigned char*>(to);
    for (std::size_t i = 0; i < bytes; ++i) target[i] = source[i];
}

} // namespace

bool readable(const void* address, std::size_t bytes) noexcept
{
    if (bytes == 0) return true;
    const auto first = reinterpret_cast<std::uintptr_t>(address);
    const auto last = first + (bytes - 1);
    if (last < first) return false;
    for (std::uintptr_t page = first & ~(page_bytes - 1);; page += page_bytes) {
        // A null set is not copied at all, so the first page would always seem readable; nothing of ours lives there.
        if (page == 0 || !page_readable(page)) return false;
        if (last - page < page_bytes) return true;
    }
}

bool safe_read(const void* from, void* to, std::size_t bytes) noexcept
{
    if (!readable(from, bytes)) return false;
    copy_bytes(from, to, bytes);
    return true;
}

} // namespace heapmark::platform
