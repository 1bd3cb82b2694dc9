// SPDX-License-Identifier: BSL-1.0
// Breadth first, so that the first way found to a block is a shortest one. The queue keeps every block reached.
#include "analyse/reachability.hpp"

#include "platform/guarded_copy.hpp"

#include <algorithm>

namespace heapmark::analyse {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uintptr_t);
constexpr std::uintptr_t page_bytes = 4096;
constexpr std::size_t buffer_words = page_bytes / word_bytes;

} // namespace

/// The first address from `address` on that may be read, with the region it is in.
std::uintptr_t Reachability::next_readable(std::uintptr_t address) noexcept
{
    if (regions_ == nullptr || (address >= readable_begin_ && address < readable_end_ && readable_begin_ != 0))
        return address;
    const auto* region =
        std::lower_bound(regions_->begin(), regions_->end(), address,
                         [](const platform::MemoryRegion& r, std::uintptr_t value) { return r.end <= value; });
    while (region != regions_->end() && !region->readable) ++region;
    if (region == regions_->end()) return ~std::uintptr_t{0};
    readable_begin_ = region->begin;
    readable_end_ = region->end;
    return std::max(address, region->begin);
}

/// Calls visit(word, address) for each aligned word of [begin, end) that can be read.
template <class Visit>
void Reachability::read_words(std::uintptr_t begin, std::uintptr_t end, Visit visit) noexcept
{
    std::uintptr_t buffer[buffer_words];
    begin = (begin + word_bytes - 1) & ~(word_bytes - 1);
    for (begin = next_readable(begin); begin < end && end - begin >= word_bytes; begin = next_readable(begin)) {
        const std::uintptr_t readable_to = std::min(end, readable_end_);
        const std::size_t wanted = std::min<std::size_t>((readable_to - begin) / word_bytes, buffer_words);
        const std::size_t count = platform::guarded_copy(buffer, begin, wanted);
        for (std::size_t i = 0; i < count; ++i) visit(buffer[i], begin + i * word_bytes);
        begin += count * word_bytes;
        if (count != wanted) begin = (begin & ~(page_bytes - 1)) + page_bytes; // it went away since
    }
}

Node Reachability::node_at(std::uintptr_t word) const noexcept
{
    const Node node = index_.find(word);
    return node == no_node && pointer_mask_ != ~std::uintptr_t{0} ? index_.find(word & pointer_mask_) : node;
}

/// Calls visit(node, offset) for each word of the range that points to a block; offsets count from its first word.
template <class Visit>
void Reachability::read_root(const RootRange& range, Visit visit) noexcept
{
    const std::uintptr_t first = range.begin & ~(word_bytes - 1);
    read_words(range.begin, range.end, [&](std::uintptr_t word, std::uintptr_t address) {
        const Node node = node_at(word);
        if (node == no_node) return;
        if (range.of_allocator && word + word_bytes == index_.blocks()[node].content_end()) return;
        visit(node, address - first);
    });
}

void Reachability::reach(Node node, Link link) noexcept
{
    if (links_[node].is_set()) return;
    links_[node] = link;
    if (!queue_.push_back(node)) out_of_memory_ = true;
    if (wanted_ != nullptr && (*wanted_)[node] != 0) --wanted_left_;
}

bool Reachability::search(std::span<const RootRange> roots) noexcept
{
    const std::span<const Extent> blocks = index_.blocks();
    links_.clear();
    queue_.clear();
    if (!links_.reserve_dense(blocks.size()) || !links_.resize(blocks.size())) return false;
    if (!queue_.reserve_dense(blocks.size())) return false;
    const auto done = [&] { return out_of_memory_ || ended_early(); };

    for (std::uint32_t i = 0; i < roots.size() && !done(); ++i)
        read_root(roots[i],
                  [&](Node node, std::uint64_t offset) { reach(node, Link::from_root(i, offset / word_bytes)); });
    constexpr std::size_t ahead = 20; // blocks lie anywhere: their memory is asked for before its turn
    for (std::size_t next = 0; next < queue_.size() && !done(); ++next) {
        if (next + 2 * ahead < queue_.size()) __builtin_prefetch(&blocks[queue_[next + 2 * ahead]]);
        if (next + ahead < queue_.size()) {
            const Extent& soon = blocks[queue_[next + ahead]];
            __builtin_prefetch(reinterpret_cast<const void*>(soon.begin));             // NOLINT
            __builtin_prefetch(reinterpret_cast<const void*>(soon.content_end() - 1)); // NOLINT: few are in one line
        }
        const Node from = queue_[next];
        const Extent& block = blocks[from];
        read_words(block.begin, block.content_end(), [&](std::uintptr_t word, std::uintptr_t address) {
            if (const Node to = node_at(word); to != no_node)
                reach(to, Link::from_node(from, (address - block.begin) / word_bytes));
        });
    }
    return !out_of_memory_;
}

void Reachability::add_edges(Node from, bool reached_targets, platform::PageVector<Edge>& edges) noexcept
{
    const Extent& block = index_.blocks()[from];
    read_words(block.begin, block.content_end(), [&](std::uintptr_t word, std::uintptr_t address) {
        const Node to = node_at(word);
        if (to == no_node || is_reached(to) != reached_targets) return;
        if (!edges.push_back({from, to, address - block.begin})) out_of_memory_ = true;
    });
}

bool Reachability::edges_of_unreached(platform::PageVector<Edge>& edges) noexcept
{
    edges.clear();
    for (Node node = 0; node < index_.blocks().size() && !out_of_memory_; ++node)
        if (!is_reached(node)) add_edges(node, false, edges);
    return !out_of_memory_;
}

bool Reachability::edges_of_reached(platform::PageVector<Edge>& edges) noexcept
{
    edges.clear();
    for (Node node = 0; node < index_.blocks().size() && !out_of_memory_; ++node)
        if (is_reached(node)) add_edges(node, true, edges);
    return !out_of_memory_;
}

bool Reachability::pointers_to(const platform::PageVector<std::uint8_t>& wanted, std::span<const RootRange> roots,
                               platform::PageVector<RootPointer>& from_roots,
                               platform::PageVector<Edge>& edges) noexcept
{
    from_roots.clear();
    edges.clear();
    for (std::uint32_t i = 0; i < roots.size(); ++i)
        read_root(roots[i], [&](Node node, std::uint64_t offset) {
            if (wanted[node] != 0 && !from_roots.push_back({i, node, offset})) out_of_memory_ = true;
        });
    const std::span<const Extent> blocks = index_.blocks();
    for (Node from = 0; from < blocks.size() && !out_of_memory_; ++from)
        read_words(blocks[from].begin, blocks[from].content_end(), [&](std::uintptr_t word, std::uintptr_t address) {
            const Node to = node_at(word);
            if (to == no_node || to == from || wanted[to] == 0) return;
            if (!edges.push_back({from, to, address - blocks[from].begin})) out_of_memory_ = true;
        });
    return !out_of_memory_;
}

} // namespace heapmark::analyse
