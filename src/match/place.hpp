// SPDX-License-Identifier: BSL-1.0
// Where a record stands in the traces that are read.
#pragma once

#include <compare>
#include <cstdint>

namespace heapmark::match {

/// Source and line in one word. Later ones, as they are read, compare greater.
struct Place {
    static constexpr unsigned line_bits = 44;

    std::uint64_t word = 0;

    static constexpr Place of(std::uint32_t source, std::uint64_t line) noexcept
    {
        return {std::uint64_t{source} << line_bits | line};
    }
    [[nodiscard]] constexpr std::uint32_t source() const noexcept
    {
        return static_cast<std::uint32_t>(word >> line_bits);
    }
    /// From 1; in a trace of heapmark's, the number of the record.
    [[nodiscard]] constexpr std::uint64_t line() const noexcept { return word & ((std::uint64_t{1} << line_bits) - 1); }
    friend constexpr auto operator<=>(Place, Place) noexcept = default;
};

} // namespace heapmark::match
