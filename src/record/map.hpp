// SPDX-License-Identifier: BSL-1.0
// The allocation map: a word beside the heap for each 32-byte granule, so that blocks stay untouched.
//
// Root array -> leaf of 64 MiB of addresses, mapped when first written. Only leaf creation is not a plain load or store.
#pragma once

#include "record/entry.hpp"

#include <atomic>
#include <bit>

namespace heapmark::record {

inline constexpr unsigned address_bits = 47;
inline constexpr unsigned leaf_shift = 26;
inline constexpr unsigned region_shift = 18; ///< 256 KiB of addresses share one "newest" word above the pages'
inline constexpr unsigned page_shift = 12;   ///< 4 KiB of addresses, 1 KiB of entries

inline constexpr std::size_t leaf_granules = std::size_t{1} << (leaf_shift - granule_shift);
inline constexpr std::size_t leaf_pages = std::size_t{1} << (leaf_shift - page_shift);
inline constexpr std::size_t leaf_regions = std::size_t{1} << (leaf_shift - region_shift);

/// "Newest" words hold the greatest context that a block was born with below them: a search for the survivors of
/// a generation passes by whatever is older. They only grow.
struct Leaf {
    std::atomic<std::uint32_t> newest;
    std::uintptr_t base; ///< first address described
    Leaf* next;          ///< of all leaves; set before the leaf is published
    std::atomic<std::uint32_t> region_newest[leaf_regions];
    std::atomic<std::uint32_t> page_newest[leaf_pages];
    alignas(4096) std::atomic<std::uint64_t> words[leaf_granules + 2]; ///< two more: sizes of what starts in the last
};

class Map {
public:
    /// The word of the granule that holds `address`; nullptr when nothing was ever recorded near it.
    [[nodiscard]] std::atomic<std::uint64_t>* find(std::uintptr_t address) const noexcept
    {
        Leaf* leaf = find_leaf(address);
        return leaf == nullptr ? nullptr : &leaf->words[granule_in_leaf(address)];
    }

    /// Whether a block can be recorded that starts there: at a multiple of 16, in the addresses that programs have.
    static constexpr bool may_start_block(std::uintptr_t address) noexcept
    {
        return std::rotr(address, 4) >> (address_bits - 4) == 0; // both in one comparison
    }

    /// The leaf of an address in those that programs have; nullptr when nothing was ever recorded near it.
    [[nodiscard]] Leaf* leaf_at(std::uintptr_t address) const noexcept
    {
        return __atomic_load_n(&roots_[address >> leaf_shift], __ATOMIC_ACQUIRE);
    }

    /// The same of any address.
    [[nodiscard]] Leaf* find_leaf(std::uintptr_t address) const noexcept
    {
        return address >> address_bits == 0 ? leaf_at(address) : nullptr;
    }

    /// The leaf of `address`, made if need be; nullptr when it cannot be had.
    [[nodiscard]] Leaf* leaf(std::uintptr_t address) noexcept
    {
        Leaf* leaf = find_leaf(address);
        return leaf != nullptr || address >> address_bits != 0 ? leaf : make_leaf(address);
    }

    /// Newest leaf first; follow Leaf::next.
    [[nodiscard]] const Leaf* leaves() const noexcept { return leaves_.load(std::memory_order_acquire); }

    static constexpr std::size_t granule_in_leaf(std::uintptr_t address) noexcept
    {
        return (address >> granule_shift) & (leaf_granules - 1);
    }

    /// To be called before the entry of a birth with `context` is stored.
    static void raise_newest(Leaf& leaf, std::uintptr_t address, std::uint32_t context) noexcept
    {
        if (leaf.page_newest[(address >> page_shift) & (leaf_pages - 1)].load(std::memory_order_relaxed) < context)
            [[unlikely]]
            raise_newest_slowly(leaf, address, context);
    }

    /// Whether store_plain will do: the slack fits the first extension.
    static constexpr bool is_plain(Sizes sizes) noexcept
    {
        return sizes.usable_bytes - sizes.requested_bytes < Extension::slack_in_next;
    }

    /// Word and extension word of a block for which is_plain() holds.
    [[gnu::always_inline]] static void store_plain(std::atomic<std::uint64_t>* word, Entry entry, Sizes sizes) noexcept
    {
        // Sizes are hard to predict, so neither store hangs on them: a small block's extension goes to waste.
        static constinit thread_local std::atomic<std::uint64_t> waste __attribute__((tls_model("initial-exec")));
        const bool small = sizes.usable_bytes <= Entry::inline_usable_max;
        std::atomic<std::uint64_t>* extension = small ? &waste : word + 1;
        extension->store(Extension::word(sizes.requested_bytes, sizes.usable_bytes - sizes.requested_bytes),
                         std::memory_order_relaxed);
        const std::uint64_t inline_sizes =
            small ? Entry::packed(sizes.requested_bytes, sizes.usable_bytes) : ~std::uint64_t{0};
        // Release: who sees the entry sees its extension and whatever depot and context records it names.
        word->store(entry.with_inline_field(inline_sizes).word(), std::memory_order_release);
    }

    /// The same for any block.
    static void store(std::atomic<std::uint64_t>* word, Entry entry, Sizes sizes) noexcept;

    /// Sizes of the block of `entry`, whose word is `word`.
    [[nodiscard]] static Sizes sizes(const std::atomic<std::uint64_t>* word, Entry entry) noexcept
    {
        if (!entry.has_extension()) return {entry.inline_requested(), entry.inline_usable()};
        const std::uint64_t extension = word[1].load(std::memory_order_relaxed);
        const std::size_t requested = Extension::size(extension);
        if (Extension::slack(extension) == Extension::slack_in_next) [[unlikely]]
            return {requested, Extension::size(word[2].load(std::memory_order_relaxed))};
        return {requested, requested + Extension::slack(extension)};
    }

    /// Whether the words that sizes() reads are still the block's. They are while it lives; once it is released, or inside
    /// a realloc, other blocks may have taken its place.
    [[nodiscard]] static bool has_sizes(const std::atomic<std::uint64_t>* word, Entry entry) noexcept;

    // The same in steps, for the heap path. The first word of the extension; 0, which none is, for a block without:
    [[nodiscard]] static std::uint64_t extension(const std::atomic<std::uint64_t>* word, Entry entry) noexcept
    {
        return entry.has_extension() ? word[1].load(std::memory_order_relaxed) : 0;
    }
    [[nodiscard]] static std::size_t requested_bytes(Entry entry, std::uint64_t extension) noexcept
    {
        return extension != 0 ? Extension::size(extension) : entry.inline_requested();
    }
    [[nodiscard]] static std::size_t usable_bytes(const std::atomic<std::uint64_t>* word, Entry entry,
                                                  std::uint64_t extension, std::size_t requested_bytes) noexcept
    {
        if (extension == 0) return entry.inline_usable();
        if (Extension::slack(extension) == Extension::slack_in_next) [[unlikely]]
            return Extension::size(word[2].load(std::memory_order_relaxed));
        return requested_bytes + Extension::slack(extension);
    }

private:
    Leaf* make_leaf(std::uintptr_t address) noexcept;
    static void raise_newest_slowly(Leaf& leaf, std::uintptr_t address, std::uint32_t context) noexcept;

    // Not std::atomic: compilers give up on initialising two million of them as a constant.
    Leaf* roots_[std::size_t{1} << (address_bits - leaf_shift)]{};
    std::atomic<Leaf*> leaves_{nullptr};
};

extern constinit Map map;

} // namespace heapmark::record
