// SPDX-License-Identifier: BSL-1.0
// Memory that the program mapped for itself.
#pragma once

#include "platform/module_data.hpp"

namespace heapmark::platform {

enum class MappedState : std::uint8_t {
    known,
    untold, ///< the system does not tell what belongs to whom
    out_of_memory,
};

/// Appends writable memory that has no file, or only one that exists for being shared: ordered by address, with stacks and
/// allocators' pools still among it, without pages of heapmark's own. Raw system calls; no heap, no lock.
/// Cost: the system looks at every page that is in use, some 10 ms a gigabyte.
[[nodiscard]] MappedState read_mapped_memory(PageVector<MemoryRange>& ranges) noexcept;

} // namespace heapmark::platform
