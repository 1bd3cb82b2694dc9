// SPDX-License-Identifier: BSL-1.0
// Walks the allocation map. Pages that never saw a block of the program are passed by.
#include "snapshot/heap_blocks.hpp"

#include "platform/monotonic_clock.hpp"
#include "record/recorder.hpp"
#include "snapshot/collect.hpp"

#include <algorithm>

namespace heapmark::snapshot {
namespace {

bool is_the_programs(record::Entry entry) noexcept
{
    return entry.kind() >= record::Kind::malloc_family ||
           (entry.kind() == record::Kind::resizing && entry.context() != 0);
}

Extent extent_of(std::uintptr_t begin, record::Sizes sizes) noexcept
{
    constexpr std::size_t most_slack = 0xffff;
    Extent extent{};
    extent.begin = begin;
    extent.bytes = std::max<std::size_t>(sizes.requested_bytes, 1) & 0xffff'ffff'ffffU;
    extent.slack_bytes =
        sizes.usable_bytes > extent.bytes ? std::min(sizes.usable_bytes - extent.bytes, most_slack) & 0xffffU : 0;
    return extent;
}

class Reader {
public:
    explicit Reader(platform::PageVector<Extent>& blocks) noexcept : blocks_(blocks) {}

    void read_leaf(const record::Leaf& leaf) noexcept
    {
        constexpr std::size_t pages_in_region = record::leaf_pages / record::leaf_regions;
        if (leaf.newest.load(std::memory_order_acquire) == 0) return;
        for (std::size_t region = 0; region < record::leaf_regions; ++region) {
            if (leaf.region_newest[region].load(std::memory_order_acquire) == 0) continue;
            for (std::size_t page = region * pages_in_region; page < (region + 1) * pages_in_region; ++page)
                if (leaf.page_newest[page].load(std::memory_order_acquire) != 0) read_page(leaf, page);
        }
    }

    [[nodiscard]] HeapState state() const noexcept { return state_; }

private:
    void read_page(const record::Leaf& leaf, std::size_t page) noexcept
    {
        constexpr std::size_t granules = record::leaf_granules / record::leaf_pages;
        for (std::size_t granule = page * granules; granule < (page + 1) * granules; ++granule) {
            const std::atomic<std::uint64_t>& word = leaf.words[granule];
            const record::Entry entry(word.load(std::memory_order_relaxed));
            if (!is_the_programs(entry)) continue;
            if (entry.kind() == record::Kind::resizing && state_ == HeapState::whole) state_ = HeapState::in_realloc;
            const std::uintptr_t address = leaf.base + (granule << record::granule_shift) + (entry.half() ? 16 : 0);
            if (!blocks_.push_back(extent_of(address, record::Map::sizes(&word, entry))))
                state_ = HeapState::out_of_memory;
        }
    }

    platform::PageVector<Extent>& blocks_;
    HeapState state_ = HeapState::whole;
};

} // namespace

HeapState read_heap_blocks(platform::PageVector<Extent>& blocks) noexcept
{
    blocks.clear();
    platform::PageVector<const record::Leaf*> leaves;
    for (const record::Leaf* leaf = record::map.leaves(); leaf != nullptr; leaf = leaf->next)
        if (!leaves.push_back(leaf)) return HeapState::out_of_memory;
    std::sort(leaves.begin(), leaves.end(),
              [](const record::Leaf* a, const record::Leaf* b) { return a->base < b->base; });
    // Near enough to spare the array from being moved while it grows.
    const std::int64_t expected = record::totals_since(0).blocks;
    if (expected > 0 && !blocks.reserve_dense(static_cast<std::size_t>(expected) + 1024))
        return HeapState::out_of_memory;
    Reader reader(blocks);
    for (const record::Leaf* leaf : leaves) reader.read_leaf(*leaf);
    return reader.state();
}

Block live_block_at(std::uintptr_t address) noexcept
{
    const std::atomic<std::uint64_t>* word = record::map.find(address);
    if (word == nullptr || address % 16 != 0) return {};
    const record::Entry entry(word->load(std::memory_order_acquire));
    if (!is_the_programs(entry) || entry.half() != (address % 32 != 0)) return {};
    return block_at(address, entry, record::Map::sizes(word, entry), platform::monotonic_ns());
}

bool is_own_block(std::uintptr_t address, std::size_t requested_bytes) noexcept
{
    record::Sizes sizes;
    const record::Entry entry = record::find_block(reinterpret_cast<const void*>(address), sizes); // NOLINT
    return entry.kind() == record::Kind::internal && sizes.requested_bytes == requested_bytes;
}

} // namespace heapmark::snapshot
