// SPDX-License-Identifier: BSL-1.0
// Memory straight from the system: all that the recorder allocates.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapmark::platform {

/// Zeroed pages without swap reserved for them, left out of core dumps; nullptr when the system has none.
/// Keeps errno. Async-signal-safe.
void* map_pages(std::size_t bytes) noexcept;
void unmap_pages(void* pages, std::size_t bytes) noexcept;

/// Has pages that are about to be written made ready together, which costs less than a fault for each. Only a hint.
void touch_pages(void* pages, std::size_t bytes) noexcept;

/// For pages that are about to be written from end to end: fewer faults, where the system has huge pages. Only a hint.
void prefer_huge_pages(void* pages, std::size_t bytes) noexcept;

/// From now on only `count` more requests succeed; negative: all do.
void limit_page_requests_for_test(std::int64_t count) noexcept;

} // namespace heapmark::platform
