// SPDX-License-Identifier: BSL-1.0
// Where the loaded modules keep their variables, read from the loader's own lists: for a stopped world, in which the
// loader's lock may be taken.
#pragma once

#include "platform/page_vector.hpp"

#include <cstdint>

namespace heapmark::platform {

/// A piece of memory [begin, end).
struct MemoryRange {
    std::uintptr_t begin;
    std::uintptr_t end;
};

/// The writable segments of every loaded module, read-only-after-relocation parts included.
/// `loader_records` gets the loader's descriptions of them, which lie outside the heap when a module was there from the
/// start. False when memory ran out.
[[nodiscard]] bool read_module_data(PageVector<MemoryRange>& segments,
                                    PageVector<MemoryRange>& loader_records) noexcept;

} // namespace heapmark::platform
