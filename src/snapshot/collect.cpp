// SPDX-License-Identifier: BSL-1.0
// Walks the allocation map for the survivors of a range of generations, passing by pages that are older.
#include "snapshot/collect.hpp"

#include "platform/monotonic_clock.hpp"
#include "record/contexts.hpp"
#include "record/depot.hpp"
#include "record/generations.hpp"
#include "record/recorder.hpp"
#include "snapshot/snapshot_access.hpp"

#include <algorithm>

namespace heapmark::snapshot {
namespace {

static_assert(sizeof(Frame) == sizeof(std::uint64_t), "the depot keeps frames as their bits");

struct Range {
    std::uint32_t first_context;
    std::uint64_t last_generation;
    bool ignored_too;
    bool freed_too;
    std::uint64_t now_ns;
};

std::uint64_t generation_of(record::Entry entry) noexcept
{
    const record::Context* context = record::clock.context(entry.context());
    const std::uint32_t ready = context == nullptr ? 0 : context->generation_plus_one.load(std::memory_order_acquire);
    return ready == 0 ? 0 : ready - 1;
}

bool is_listed(record::Entry entry, const Range& range) noexcept
{
    const record::Kind kind = entry.kind();
    if (kind < record::Kind::malloc_family && kind != record::Kind::resizing &&
        !(range.freed_too && kind == record::Kind::released))
        return false;
    // Context 0: heapmark's own, also while it is being resized.
    if (entry.context() == 0 || entry.context() < range.first_context) return false;
    return (range.ignored_too || !entry.ignored()) && generation_of(entry) <= range.last_generation;
}

void collect_page(const record::Leaf& leaf, std::size_t page, const Range& range, std::vector<Block>& blocks)
{
    constexpr std::size_t granules = record::leaf_granules / record::leaf_pages;
    for (std::size_t granule = page * granules; granule < (page + 1) * granules; ++granule) {
        const std::atomic<std::uint64_t>& word = leaf.words[granule];
        for (;;) {
            const record::Entry entry(word.load(std::memory_order_acquire));
            if (!is_listed(entry, range)) break;
            const std::uintptr_t address = leaf.base + (granule << record::granule_shift) + (entry.half() ? 16 : 0);
            const record::Sizes sizes = record::Map::sizes(&word, entry);
            // The sizes belong to this birth only if the entry is still the same.
            if (record::Entry(word.load(std::memory_order_acquire)) != entry) continue;
            // While realloc shrinks a block, others may already use its tail: it is about to die, and is left out.
            if (!record::Map::has_sizes(&word, entry)) break;
            blocks.push_back(block_at(address, entry, sizes, range.now_ns));
            break;
        }
    }
}

void collect_leaf(const record::Leaf& leaf, const Range& range, std::vector<Block>& blocks)
{
    const auto is_older = [&](const std::atomic<std::uint32_t>& newest) {
        return newest.load(std::memory_order_acquire) < range.first_context;
    };
    constexpr std::size_t pages_in_region = record::leaf_pages / record::leaf_regions;
    if (is_older(leaf.newest)) return;
    for (std::size_t region = 0; region < record::leaf_regions; ++region) {
        if (is_older(leaf.region_newest[region])) continue;
        for (std::size_t page = region * pages_in_region; page < (region + 1) * pages_in_region; ++page)
            if (!is_older(leaf.page_newest[page])) collect_page(leaf, page, range, blocks);
    }
}

} // namespace

Block block_at(std::uintptr_t address, record::Entry entry, record::Sizes sizes, std::uint64_t now_ns) noexcept
{
    Block block;
    block.address = reinterpret_cast<void*>(address); // NOLINT(performance-no-int-to-ptr)
    block.size = sizes.requested_bytes;
    block.usable_size = std::max(sizes.usable_bytes, sizes.requested_bytes);

    const auto generation = static_cast<std::uint32_t>(generation_of(entry));
    block.generation = Generation{generation};
    block.age.generations = record::clock.generation() - generation;
    block.age.nanoseconds = record::age_ns(generation, now_ns);

    if (const record::Context* context = record::clock.context(entry.context()))
        block.thread = ThreadId{context->thread};
    if (const record::Site* site = record::site(entry.site())) {
        block.stack = Stack(reinterpret_cast<const Frame*>(site->frames()), site->depth_frames);
        block.api = site->key.api;
        block.tag = record::text(site->key.tag);
    }
    block.ignored = entry.ignored();
    return block;
}

Snapshot collect(Generation first, Generation last, Ignored ignored, Freed freed)
{
    const Range range{record::clock.first_context(record::number_of(first)), // at least 1: 0 is heapmark's own
                      static_cast<std::uint64_t>(last), ignored == Ignored::include, freed == Freed::include,
                      platform::monotonic_ns()};
    std::vector<Block> blocks;
    if (last == SnapshotAccess::open_end) // near enough to spare large lists from being moved while they grow
        if (const std::int64_t expected = record::totals_since(record::number_of(first)).blocks; expected > 0)
            blocks.reserve(static_cast<std::size_t>(expected));
    if (first <= last)
        for (const record::Leaf* leaf = record::map.leaves(); leaf != nullptr; leaf = leaf->next)
            collect_leaf(*leaf, range, blocks);
    return SnapshotAccess::make(std::move(blocks), first, last, record::unrecorded_count());
}

} // namespace heapmark::snapshot
