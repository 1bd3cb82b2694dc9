// SPDX-License-Identifier: BSL-1.0
// When each generation was marked, and how it was called.
#pragma once

#include "record/texts.hpp"
#include <heapmark/fwd.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace heapmark::record {

/// The number that the record knows a public generation by; the greatest one for those that cannot be yet.
constexpr std::uint32_t number_of(Generation generation) noexcept
{
    constexpr std::uint64_t greatest = std::numeric_limits<std::uint32_t>::max();
    return static_cast<std::uint32_t>(std::min(static_cast<std::uint64_t>(generation), greatest));
}

/// Starts a generation on the clock and keeps its time and name. Lock-free; async-signal-safe without a name.
std::uint32_t mark(std::string_view name) noexcept;

/// Gives generation 0 its time; the first call counts.
void begin_first_generation() noexcept;

/// Time from the mark to `now_ns` of platform::monotonic_ns(), to the microsecond, up to a hundred days; 0 when it is
/// not known (memory ran out) and when the mark came later.
std::uint64_t age_ns(std::uint32_t generation, std::uint64_t now_ns) noexcept;

/// Name of the generation, "" for none.
std::string_view name_of(std::uint32_t generation) noexcept;

} // namespace heapmark::record
