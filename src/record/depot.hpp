// SPDX-License-Identifier: BSL-1.0
// The depot of sites: each distinct (stack, allocation function, tag, alignment) is kept once, for ever, under a
// 25-bit id. Lock-free chained hash table; in front of it each thread has a direct-mapped cache.
#pragma once

#include "base/bits.hpp"
#include "base/frames_hash.hpp"
#include <heapmark/fwd.hpp>

#include <atomic>
#include <span>

namespace heapmark::record {

inline constexpr unsigned site_id_bits = 25;
inline constexpr std::uint32_t no_site = 0;       ///< no stack could be kept
inline constexpr std::uint32_t internal_site = 1; ///< heapmark's own code allocated

/// What is interned besides the frames.
struct SiteKey {
    Api api = Api::unknown;
    std::uint8_t alignment_log2 = 0; ///< asked for; 0: the function's own
    std::uint32_t tag = 0;           ///< texts::Id

    /// All of it, never 0.
    [[nodiscard]] constexpr std::uint64_t word() const noexcept
    {
        return (std::uint64_t{tag} << 16 | std::uint64_t{static_cast<std::uint8_t>(api)} << 8 | alignment_log2) + 1;
    }
};

struct Site {
    std::uint32_t id;
    std::atomic<std::uint32_t> next; ///< in its bucket
    std::uint64_t hash;
    SiteKey key;
    std::uint8_t depth_frames;

    /// heapmark::Frame::bits, innermost first; they follow the structure.
    [[nodiscard]] const std::uint64_t* frames() const noexcept
    {
        return reinterpret_cast<const std::uint64_t*>(this + 1);
    }
};

/// Hash of the key and the frames, given the base::FramesHash of these.
inline std::uint64_t site_hash(const SiteKey& key, std::uint64_t frames_hash) noexcept
{
    return base::mix64(frames_hash ^ key.word() * 0x9e37'79b9'7f4a'7c15U);
}
inline std::uint64_t site_hash(const SiteKey& key, std::span<const std::uint64_t> frames) noexcept
{
    return site_hash(key, base::FramesHash::of(frames));
}

/// Id of the site, made if need be; no_site when table space ran out. `hash` is site_hash of the same.
std::uint32_t intern_site(std::uint64_t hash, const SiteKey& key, std::span<const std::uint64_t> frames) noexcept;

/// The site of an id; nullptr for no_site and internal_site.
const Site* site(std::uint32_t id) noexcept;

/// Sites kept so far.
std::uint32_t site_count() noexcept;

/// One past the last id given out.
std::uint32_t end_site_id() noexcept;

/// Direct-mapped, by hash. A hash of 64 bits that agrees is taken for the same site. Valid when zero.
/// Shared by a thread and the signal handlers that interrupt it: a slot's first word is the hash mixed with the site,
/// so that a pair which a handler came between matches nothing.
class SiteCache {
public:
    /// The site of a hash that was kept; no_site when it was not, or has been displaced.
    [[nodiscard]] std::uint32_t find(std::uint64_t hash) const noexcept
    {
        const Slot seen = slots_[hash % slot_count];
        return seen.key == key(hash, seen.site) ? seen.site : no_site;
    }
    void keep(std::uint64_t hash, std::uint32_t site) noexcept { slots_[hash % slot_count] = {key(hash, site), site}; }

private:
    static constexpr std::size_t slot_count = 2048;
    struct Slot {
        std::uint64_t key;
        std::uint32_t site;
    };

    static constexpr std::uint64_t key(std::uint64_t hash, std::uint32_t site) noexcept
    {
        return hash ^ (site * std::uint64_t{0x9e37'79b9'7f4a'7c15U});
    }

    Slot slots_[slot_count];
};

} // namespace heapmark::record
