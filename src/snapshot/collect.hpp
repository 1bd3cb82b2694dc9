// SPDX-License-Identifier: BSL-1.0
// Reads the record into plain values.
#pragma once

#include "record/entry.hpp"

#include <heapmark/heapmark.hpp>

namespace heapmark::snapshot {

/// Whether blocks are listed that have been freed, and whose place has not been used again.
enum class Freed : bool { leave_out, include };

/// The blocks of generations first..last. The caller holds a Guard.
/// Threads, cost: as heapmark::survivors says.
Snapshot collect(Generation first, Generation last, Ignored ignored, Freed freed = Freed::leave_out);

/// The birth that an entry of the map tells of; its age at `now_ns` of platform::monotonic_ns(). Allocates nothing.
Block block_at(std::uintptr_t address, record::Entry entry, record::Sizes sizes, std::uint64_t now_ns) noexcept;

} // namespace heapmark::snapshot
