// SPDX-License-Identifier: BSL-1.0
// What is mapped where, as the system tells it. No heap, no lock of the loader: for a stopped world.
#pragma once

#include "platform/page_vector.hpp"

#include <cstdint>

namespace heapmark::platform {

struct MemoryRegion {
    std::uintptr_t begin;
    std::uintptr_t end;
    bool readable;
    bool writable;
    bool shared;
    bool anonymous; ///< no file behind it; [stack] and [heap] too
};

/// Ordered by address. False when /proc is not there or memory ran out.
[[nodiscard]] bool read_memory_regions(PageVector<MemoryRegion>& regions) noexcept;

/// The region that holds `address`; nullptr when none does.
[[nodiscard]] const MemoryRegion* region_at(const PageVector<MemoryRegion>& regions, std::uintptr_t address) noexcept;

} // namespace heapmark::platform
