// SPDX-License-Identifier: BSL-1.0
// The depot of sites.
#include "record/depot.hpp"

#include "base/bits.hpp"
#include "platform/growing_table.hpp"
#include "record/arena.hpp"

#include <algorithm>
#include <new>

namespace heapmark::record {
namespace {

constexpr std::size_t buckets_count = std::size_t{1} << 16;
constexpr std::uint32_t first_id = internal_site + 1;
constexpr std::uint32_t last_id = (std::uint32_t{1} << site_id_bits) - 1;

constinit std::atomic<std::uint32_t> buckets[buckets_count]{};
constinit std::atomic<std::uint32_t> next_id{first_id};
constinit platform::GrowingTable<const Site*, site_id_bits, 14> sites_by_id{};

bool same(const Site& site, std::uint64_t hash, const SiteKey& key, std::span<const std::uint64_t> frames) noexcept
{
    return site.hash == hash && site.key.api == key.api && site.key.tag == key.tag &&
           site.key.alignment_log2 == key.alignment_log2 && site.depth_frames == frames.size() &&
           std::equal(frames.begin(), frames.end(), site.frames());
}

/// The id of an equal site in the chain from `from` up to, not including, `until`.
std::uint32_t find_in_chain(std::uint32_t from, std::uint32_t until, std::uint64_t hash, const SiteKey& key,
                            std::span<const std::uint64_t> frames) noexcept
{
    for (std::uint32_t id = from; id != until;) {
        const Site& candidate = *site(id);
        if (same(candidate, hash, key, frames)) return id;
        id = candidate.next.load(std::memory_order_acquire);
    }
    return no_site;
}

Site* make_site(std::uint64_t hash, const SiteKey& key, std::span<const std::uint64_t> frames) noexcept
{
    if (next_id.load(std::memory_order_relaxed) > last_id) return nullptr;
    void* memory = allocate_for_ever(sizeof(Site) + frames.size_bytes());
    if (memory == nullptr) return nullptr;
    const std::uint32_t id = next_id.fetch_add(1, std::memory_order_relaxed);
    if (id > last_id) return nullptr;

    auto* made = new (memory) Site{};
    made->id = id;
    made->hash = hash;
    made->key = key;
    made->depth_frames = static_cast<std::uint8_t>(frames.size());
    std::copy(frames.begin(), frames.end(), reinterpret_cast<std::uint64_t*>(made + 1));
    const Site** slot = sites_by_id.slot(id);
    if (slot == nullptr) return nullptr;
    *slot = made;
    return made;
}

} // namespace

std::uint32_t intern_site(std::uint64_t hash, const SiteKey& key, std::span<const std::uint64_t> frames) noexcept
{
    std::atomic<std::uint32_t>& bucket = buckets[hash % buckets_count];
    std::uint32_t head = bucket.load(std::memory_order_acquire);
    if (const std::uint32_t id = find_in_chain(head, no_site, hash, key, frames); id != no_site) return id;

    Site* made = make_site(hash, key, frames);
    if (made == nullptr) return no_site;
    for (;;) {
        made->next.store(head, std::memory_order_relaxed);
        const std::uint32_t searched = head;
        if (bucket.compare_exchange_weak(head, made->id, std::memory_order_release, std::memory_order_acquire))
            return made->id;
        // Others came first. If one brought the same site, ours stays unused: an id and its bytes are the price.
        if (const std::uint32_t id = find_in_chain(head, searched, hash, key, frames); id != no_site) return id;
    }
}

const Site* site(std::uint32_t id) noexcept
{
    if (id < first_id) return nullptr;
    const Site* const* slot = sites_by_id.find(id);
    return slot == nullptr ? nullptr : *slot;
}

std::uint32_t site_count() noexcept { return end_site_id() - first_id; }

std::uint32_t end_site_id() noexcept { return std::min(next_id.load(std::memory_order_relaxed), last_id + 1); }

} // namespace heapmark::record
