// SPDX-License-Identifier: BSL-1.0
// Memory from mmap as roots: what is left when stacks, variables and the allocator's pools are taken away.
#pragma once

#include "analyse/block_index.hpp"
#include "platform/module_data.hpp"

#include <span>

namespace heapmark {

/// `known`: what is searched in another way, in any order. `blocks`: all, by address. For a stopped world.
/// False when memory ran out.
[[nodiscard]] bool without_known(std::span<const platform::MemoryRange> mapped,
                                 std::span<const platform::MemoryRange> known, std::span<const analyse::Extent> blocks,
                                 platform::PageVector<platform::MemoryRange>& left) noexcept;

} // namespace heapmark
