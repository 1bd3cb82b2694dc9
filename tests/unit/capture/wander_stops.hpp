// SPDX-License-Identifier: BSL-1.0
// The lists of functions that wander_stops.cpp gives, once for each way of building it.
#pragma once

#include "wander.hpp"

namespace capture_test {

struct Stops {
    std::span<const Stop> all; ///< those that a signal handler may run come first
    std::ptrdiff_t signal_safe_count;
};

Stops stops_O0() noexcept;
Stops stops_O1() noexcept;
Stops stops_O2() noexcept;
Stops stops_O3() noexcept;
Stops stops_Os() noexcept;
Stops stops_with_fp() noexcept;

} // namespace capture_test
