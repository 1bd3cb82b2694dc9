// SPDX-License-Identifier: BSL-1.0
// Lines to a file descriptor without allocating.
#include "platform/raw_write.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace heapmark::platform {

Line& Line::operator<<(std::string_view text) noexcept
{
    const std::size_t room = std::min(text.size(), sizeof buffer_ - size_);
    std::memcpy(buffer_ + size_, text.data(), room);
    size_ += room;
    return *this;
}

Line& Line::operator<<(std::uint64_t number) noexcept
{
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
}

Line& Line::hex(const void* address) noexcept
{
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof digits, reinterpret_cast<std::uintptr_t>(address), 16).ptr;
    return *this << "0x" << std::string_view(digits, static_cast<std::size_t>(end - digits));
}

int write_all(int descriptor, std::string_view text) noexcept
{
    const int saved_errno = errno;
    int error = 0;
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written >= 0)
            text.remove_prefix(static_cast<std::size_t>(written));
        else if (errno != EINTR) {
            error = errno;
            break;
        }
    }
    errno = saved_errno;
    return error;
}

void die(const Line& line) noexcept
{
    Line whole;
    whole << "heapmark: " << line.text() << "\n";
    write_all(STDERR_FILENO, whole.text());
    std::abort();
}

} // namespace heapmark::platform
