// SPDX-License-Identifier: BSL-1.0
#include "analyse/block_index.hpp"

namespace heapmark::analyse {

bool BlockIndex::build(std::span<const Extent> blocks) noexcept
{
    blocks_ = blocks;
    leaves_.clear();
    slots_.clear();
    span_ = 0;
    if (blocks.empty()) return true;
    lowest_ = blocks.front().begin;
    span_ = blocks.back().end() - lowest_;
    first_leaf_ = lowest_ >> leaf_shift;
    const std::size_t leaf_count = ((blocks.back().end() - 1) >> leaf_shift) - first_leaf_ + 1;
    if (!leaves_.resize(leaf_count)) return false;

    // First which leaves have starts, so that the slots need not grow while they are filled.
    Leaf used = 0;
    for (const Extent& block : blocks) {
        Leaf& leaf = leaves_[(block.begin >> leaf_shift) - first_leaf_];
        if (leaf == 0) leaf = ++used;
    }
    if (!slots_.resize(used * leaf_slots)) return false;

    Node node = 0;
    for (std::size_t number = 0; number < leaf_count; ++number) {
        Leaf& leaf = leaves_[number];
        if (leaf == 0) {
            // All of it lies in the last block before, or in none.
            const std::uintptr_t begin = (first_leaf_ + number) << leaf_shift;
            if (node != 0 && blocks[node - 1].end() > begin) leaf = (node - 1) | inside_one;
            continue;
        }
        Slot* const slots = &slots_[(leaf - 1) * leaf_slots];
        const std::uintptr_t end = (first_leaf_ + number + 1) << leaf_shift;
        std::size_t filled = 0;
        for (; node < blocks.size() && blocks[node].begin < end; ++node) {
            const std::size_t granule = (blocks[node].begin >> granule_shift) & (leaf_granules - 1);
            for (; filled <= granule / 64; ++filled) slots[filled].before = node;
            slots[granule / 64].starts |= std::uint64_t{1} << granule % 64;
        }
        for (; filled < leaf_slots; ++filled) slots[filled].before = node;
    }
    return true;
}

} // namespace heapmark::analyse
