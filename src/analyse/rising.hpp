// SPDX-License-Identifier: BSL-1.0
// Whether a series of readings keeps rising: values -> values.
#pragma once

#include <heapmark/heapmark.hpp>

#include <cstdint>
#include <span>

namespace heapmark::analyse {

inline constexpr std::size_t least_readings = 8; ///< one for each eighth

struct Rise {
    /// The least of each quarter is more than that of the quarter before, the least of each eighth no less than that of the
    /// eighth before (noise alone comes in that order once in 40,000 times), and it does not level off.
    bool rises = false;
    bool never_falls = false; ///< no reading is less than the one before
    double per_reading = 0;   ///< the median of the slopes between all pairs of readings (Theil 1950, Sen 1968)
};

/// Of one figure, oldest first. Fewer than `least_readings` do not rise. Does not allocate when it does not rise.
/// Levelling off: between the last two quarters there was less than half of what there was between the two before, and what
/// is missing is more than three times what chance explains, were the blocks left independently of each other.
[[nodiscard]] Rise rise_of(std::span<const Counts> readings, std::uint64_t Counts::*figure);

} // namespace heapmark::analyse
