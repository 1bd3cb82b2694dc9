// SPDX-License-Identifier: BSL-1.0
// Types that the program named for single blocks. Cold path: a lock and a table. The caller holds a Guard.
#pragma once

#include <heapmark/heapmark.hpp>

#include <cstddef>
#include <string_view>

namespace heapmark::analyse {

/// Of the block of that birth; a later call wins. Throws std::bad_alloc.
void annotate_type(const Block& block, std::string_view type);

/// "" for a block that was not named. Valid until the process ends.
[[nodiscard]] std::string_view annotated_type(const Block& block);

/// Drops what is known of blocks that `live_at(address)` does not give any more, when that may be half of all.
void drop_dead_types(Block (*live_at)(const void* address));

} // namespace heapmark::analyse
