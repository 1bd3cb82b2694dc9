// SPDX-License-Identifier: BSL-1.0
// Snapshot as a value: copies, sums and order. Every list of blocks is made under the guard, so that a snapshot
// never turns up in the next one.
#include "platform/thread_state.hpp"
#include "snapshot/snapshot_access.hpp"

#include <algorithm>
#include <functional>

namespace heapmark {

namespace {

bool lower_address(const Block& a, const Block& b) noexcept { return std::less<>{}(a.address, b.address); }

} // namespace

Snapshot SnapshotAccess::make(std::vector<Block>&& blocks, Generation first, Generation last, std::uint64_t unrecorded)
{
    Snapshot made;
    made.blocks_ = std::move(blocks);
    if (!std::is_sorted(made.blocks_.begin(), made.blocks_.end(), lower_address))
        std::stable_sort(made.blocks_.begin(), made.blocks_.end(), lower_address);
    for (const Block& block : made.blocks_) made.bytes_ += block.size;
    made.first_ = first;
    made.last_ = last;
    made.unrecorded_ = unrecorded;
    return made;
}

Snapshot::Snapshot(const Snapshot& other)
    : bytes_(other.bytes_), unrecorded_(other.unrecorded_), first_(other.first_), last_(other.last_)
{
    const platform::Guard guard;
    blocks_ = other.blocks_;
}

Snapshot& Snapshot::operator=(const Snapshot& other)
{
    if (this == &other) return *this;
    const platform::Guard guard;
    blocks_ = other.blocks_;
    bytes_ = other.bytes_;
    unrecorded_ = other.unrecorded_;
    first_ = other.first_;
    last_ = other.last_;
    return *this;
}

Snapshot Snapshot::of(const std::vector<Block>& blocks)
{
    const platform::Guard guard;
    const auto earlier = [](const Block& a, const Block& b) { return a.generation < b.generation; };
    const auto [lowest, highest] = std::minmax_element(blocks.begin(), blocks.end(), earlier);
    const bool none = blocks.empty();
    return SnapshotAccess::make(std::vector<Block>(blocks), none ? Generation{} : lowest->generation,
                                none ? Generation{} : highest->generation, 0);
}

Snapshot Snapshot::without_blocks() const
{
    Snapshot empty;
    empty.unrecorded_ = unrecorded_;
    empty.first_ = first_;
    empty.last_ = last_;
    return empty;
}

void Snapshot::append(const Block& block)
{
    const platform::Guard guard;
    SnapshotAccess::append(*this, block);
}

} // namespace heapmark
