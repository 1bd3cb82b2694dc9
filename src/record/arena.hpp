// SPDX-License-Identifier: BSL-1.0
// Memory that the record never gives back: bump allocation.
#pragma once

#include <cstddef>

namespace heapmark::record {

/// Zeroed memory, aligned to 16, until the process ends; nullptr when there is none. Lock-free; async-signal-safe.
void* allocate_for_ever(std::size_t bytes) noexcept;

} // namespace heapmark::record
