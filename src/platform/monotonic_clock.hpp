// SPDX-License-Identifier: BSL-1.0
// The clock of ages.
#pragma once

#include <cstdint>
#include <ctime>

namespace heapmark::platform {

/// Nanoseconds on the monotonic clock. Async-signal-safe.
inline std::uint64_t monotonic_ns() noexcept
{
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

} // namespace heapmark::platform
