// SPDX-License-Identifier: BSL-1.0
// Lines to a file descriptor without allocating: for errors of our own and the start of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heapmark::platform {

/// Text put together in place. What does not fit is dropped.
class Line {
public:
    Line& operator<<(std::string_view text) noexcept;
    Line& operator<<(std::uint64_t number) noexcept;
    Line& hex(const void* address) noexcept; ///< named, since a string literal would convert to it
    [[nodiscard]] std::string_view text() const noexcept { return {buffer_, size_}; }

private:
    char buffer_[512];
    std::size_t size_ = 0;
};

/// Writes all of the text, through short writes and interruptions. Returns 0 or an errno value; errno itself is kept.
int write_all(int descriptor, std::string_view text) noexcept;

/// A broken invariant or an impossible set-up: one line "heapmark: ..." to standard error, then the process ends.
[[noreturn]] void die(const Line& line) noexcept;

} // namespace heapmark::platform
