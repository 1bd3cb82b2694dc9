// SPDX-License-Identifier: BSL-1.0
// From any address to the block around it, in constant time: a bit for each 32 bytes of address space says whether a
// block starts there, and the number of starts before tells which.
// Works on pages of its own: it is built and asked while other threads are stopped.
#pragma once

#include "platform/page_vector.hpp"
#include "snapshot/heap_blocks.hpp"

#include <bit>
#include <cstdint>
#include <span>

namespace heapmark::analyse {

using snapshot::Extent;

using Node = std::uint32_t; ///< index of a block
inline constexpr Node no_node = ~Node{0};

class BlockIndex {
public:
    /// `blocks` are ordered by address, do not overlap, lie below 2^47 and are fewer than 2^31. False without memory.
    [[nodiscard]] bool build(std::span<const Extent> blocks) noexcept;

    /// The block that `address` points to or into; no_node when there is none.
    [[nodiscard]] Node find(std::uintptr_t address) const noexcept
    {
        if (address - lowest_ >= span_) return no_node;
        const Leaf leaf = leaves_[(address >> leaf_shift) - first_leaf_];
        if (leaf == 0) return no_node;
        Node last = leaf & ~inside_one;
        if ((leaf & inside_one) == 0) {
            const std::size_t granule = (address >> granule_shift) & (leaf_granules - 1);
            const Slot& slot = slots_[(leaf - 1) * leaf_slots + granule / 64];
            const std::uint64_t up_to_here = slot.starts << (63 - granule % 64);
            last = slot.before + static_cast<Node>(std::popcount(up_to_here)) - 1; // wraps when there is none before
        }
        // A block may start in the upper half of the granule, past the address.
        for (Node node = last; node != no_node && last - node < 2; --node) {
            const Extent& block = blocks_[node];
            if (block.begin <= address) return address < block.end() ? node : no_node;
        }
        return no_node;
    }

    [[nodiscard]] std::span<const Extent> blocks() const noexcept { return blocks_; }

private:
    static constexpr unsigned granule_shift = 5;
    static constexpr unsigned leaf_shift = 22;
    static constexpr std::size_t leaf_granules = std::size_t{1} << (leaf_shift - granule_shift);
    static constexpr std::size_t leaf_slots = leaf_granules / 64;

    struct Slot {
        std::uint64_t starts;
        Node before; ///< blocks that start before this slot's granules
    };
    /// 0: no block; else 1 + number of the leaf's slots / leaf_slots, or, where one block covers all of the leaf, that
    /// block and inside_one.
    using Leaf = std::uint32_t;
    static constexpr Leaf inside_one = Leaf{1} << 31;

    std::span<const Extent> blocks_;
    platform::PageVector<Leaf> leaves_;
    platform::PageVector<Slot> slots_;
    std::uintptr_t lowest_ = 0;
    std::uintptr_t span_ = 0;
    std::uintptr_t first_leaf_ = 0;
};

} // namespace heapmark::analyse
