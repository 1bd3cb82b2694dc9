// SPDX-License-Identifier: BSL-1.0
// How the collector, and whoever cuts a snapshot into parts, fills one. Plain values; knows nothing of the record.
#pragma once

#include <heapmark/heapmark.hpp>

#include <cstdint>
#include <vector>

namespace heapmark {

struct SnapshotAccess {
    /// `last` of a snapshot that was asked for without an upper end.
    static constexpr Generation open_end{~std::uint64_t{0}};

    /// Takes the blocks; sorts them by address if they are not. The caller holds a Guard, since sorting may allocate.
    [[nodiscard]] static Snapshot make(std::vector<Block>&& blocks, Generation first, Generation last,
                                       std::uint64_t unrecorded);

    /// Same question as `snapshot` (range, unrecorded), no blocks.
    [[nodiscard]] static Snapshot without_blocks(const Snapshot& snapshot) { return snapshot.without_blocks(); }

    /// Adds a block at the end, unguarded. Keep the order by address.
    static void append(Snapshot& snapshot, const Block& block)
    {
        snapshot.blocks_.push_back(block);
        snapshot.bytes_ += block.size;
    }
};

} // namespace heapmark
