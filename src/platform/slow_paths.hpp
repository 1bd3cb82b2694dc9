// SPDX-License-Identifier: BSL-1.0
// Why the quick paths of allocating and releasing may not be taken: one word, since they test it each time.
#pragma once

#include <atomic>
#include <cstdint>

namespace heapmark::platform {

enum SlowReason : std::uint32_t {
    foreign_allocator = 1, ///< what lies underneath is not glibc's, or not known yet
    tracing = 2,           ///< a trace is being written
};

inline constinit std::atomic<std::uint32_t> slow_reasons{foreign_allocator};

inline bool has_slow_reasons() noexcept { return slow_reasons.load(std::memory_order_relaxed) != 0; }

} // namespace heapmark::platform
