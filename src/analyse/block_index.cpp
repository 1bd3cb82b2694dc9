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

    // First how many leaves have starts, so that the slots need not grow while they are filled. Only leaves that blocks
    // lie in are touched: between the lowest and the highest there may be terabytes.
    const auto leaf_number = [&](const Extent& block) { return (block.begin >> leaf_shift) - first_leaf_; };
    std::size_t used = 0;
    for (std::size_t i = 0, last = leaf_count; i < blocks.size(); ++i) {
        const std::size_t number = leaf_number(blocks[i]);
        if (number != last) ++used;
        last = number;
    }
    if (!slots_.resize(used * leaf_slots)) return false;

    Leaf leaf = 0;
    for (Node node = 0; node < blocks.size();) {
        std::size_t number = leaf_number(blocks[node]);
        leaves_[number] = ++leaf;
        Slot* const slots = &slots_[(leaf - 1) * leaf_slots];
        const std::uintptr_t end = (first_leaf_ + number + 1) << leaf_shift;
        std::size_t filled = 0;
        for (; node < blocks.size() && blocks[node].begin < end; ++node) {
            const std::size_t granule = (blocks[node].begin >> granule_shift) & (leaf_granules - 1);
            for (; filled <= granule / 64; ++filled) slots[filled].before = node;
            slots[granule / 64].starts |= std::uint64_t{1} << granule % 64;
        }
        for (; filled < leaf_slots; ++filled) slots[filled].before = node;
        // The leaves that lie in the last block as a whole.
        const std::size_t next = node < blocks.size() ? leaf_number(blocks[node]) : leaf_count;
        for (++number; number < next && blocks[node - 1].end() > (first_leaf_ + number) << leaf_shift; ++number)
            leaves_[number] = (node - 1) | inside_one;
    }
    return true;
}

} // namespace heapmark::analyse
