// SPDX-License-Identifier: BSL-1.0
// The allocation map: what happens once a leaf, once a page or for an odd size.
#include "record/map.hpp"

#include "platform/pages.hpp"

#include <initializer_list>

namespace heapmark::record {
namespace {

void raise(std::atomic<std::uint32_t>& newest, std::uint32_t context) noexcept
{
    std::uint32_t seen = newest.load(std::memory_order_relaxed);
    while (seen < context && !newest.compare_exchange_weak(seen, context, std::memory_order_relaxed)) {}
}

} // namespace

constinit Map map;

Leaf* Map::make_leaf(std::uintptr_t address) noexcept
{
    auto* made = static_cast<Leaf*>(platform::map_pages(sizeof(Leaf)));
    if (made == nullptr) return nullptr;
    made->base = address >> leaf_shift << leaf_shift;

    Leaf* present = nullptr;
    if (!__atomic_compare_exchange_n(&roots_[address >> leaf_shift], &present, made, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        platform::unmap_pages(made, sizeof(Leaf));
        return present;
    }
    made->next = leaves_.load(std::memory_order_relaxed);
    while (!leaves_.compare_exchange_weak(made->next, made, std::memory_order_release, std::memory_order_relaxed)) {}
    return made;
}

void Map::raise_newest_slowly(Leaf& leaf, std::uintptr_t address, std::uint32_t context) noexcept
{
    // From the top down: a search that has seen a page's word has seen those above it.
    raise(leaf.newest, context);
    raise(leaf.region_newest[(address >> region_shift) & (leaf_regions - 1)], context);
    raise(leaf.page_newest[(address >> page_shift) & (leaf_pages - 1)], context);
}

void Map::store(std::atomic<std::uint64_t>* word, Entry entry, Sizes sizes) noexcept
{
    if (is_plain(sizes) || sizes.usable_bytes <= Entry::inline_usable_max) {
        store_plain(word, entry, sizes);
        return;
    }
    word[1].store(Extension::word(sizes.requested_bytes, Extension::slack_in_next), std::memory_order_relaxed);
    word[2].store(Extension::word(sizes.usable_bytes, 0), std::memory_order_relaxed);
    word->store(entry.with_inline_field(~std::uint64_t{0}).word(), std::memory_order_release);
}

bool Map::has_sizes(const std::atomic<std::uint64_t>* word, Entry entry) noexcept
{
    if (!entry.has_extension()) return true;
    for (const std::size_t offset : {1U, 2U}) {
        const std::uint64_t extension = word[offset].load(std::memory_order_acquire);
        if (Entry(extension).kind() != Kind::extension) return false;
        if (Extension::slack(extension) != Extension::slack_in_next) break;
    }
    return true;
}

} // namespace heapmark::record
