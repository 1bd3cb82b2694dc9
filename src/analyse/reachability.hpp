// SPDX-License-Identifier: BSL-1.0
// Which blocks can be reached from roots, each by a shortest way, and which unreached block points to which.
// Conservative: any word that could be a pointer is one. Works on pages of its own, and reads memory with care; what it
// is asked about are plain structures, so tests feed it invented ones.
#pragma once

#include "analyse/block_index.hpp"
#include "base/atomic_ref.hpp"
#include "platform/memory_regions.hpp"

#include <cstdint>

namespace heapmark::analyse {

/// Memory of which every aligned word may point to a block.
struct RootRange {
    std::uintptr_t begin;
    std::uintptr_t end;
    /// Words that point to the last word of a block are the allocator's: it keeps free memory by the address of its
    /// header, and glibc lets the header's first word be the block before's last.
    bool of_allocator;
};

/// How a block is reached: from a word of a root range or of another block. Set and read as one word by several threads.
class alignas(8) Link {
public:
    constexpr Link() noexcept = default;
    static constexpr Link from_root(std::uint32_t range, std::uint64_t word) noexcept
    {
        return Link(root_bit | range, static_cast<std::uint32_t>(word));
    }
    static constexpr Link from_node(Node node, std::uint64_t word) noexcept
    {
        return Link(node + 1, static_cast<std::uint32_t>(word));
    }

    [[nodiscard]] constexpr bool is_set() const noexcept { return from_ != 0; }
    [[nodiscard]] constexpr bool is_root() const noexcept { return (from_ & root_bit) != 0; }
    [[nodiscard]] constexpr std::uint32_t root() const noexcept { return from_ & ~root_bit; } ///< index of the range
    [[nodiscard]] constexpr Node node() const noexcept { return from_ - 1; }
    [[nodiscard]] constexpr std::uint64_t offset() const noexcept
    {
        return std::uint64_t{word_} * sizeof(std::uintptr_t);
    }

private:
    constexpr Link(std::uint32_t from, std::uint32_t word) noexcept : from_(from), word_(word) {}
    static constexpr std::uint32_t root_bit = std::uint32_t{1} << 31;

    std::uint32_t from_ = 0;
    std::uint32_t word_ = 0;
};

/// A pointer between two blocks.
struct Edge {
    Node from;
    Node to;
    std::uint64_t offset; ///< of the pointer in `from`
};

/// A pointer from a root to a block.
struct RootPointer {
    std::uint32_t root; ///< index of the range
    Node to;
    std::uint64_t offset; ///< from the range's first word
};

class Reachability {
public:
    explicit Reachability(const BlockIndex& index) noexcept : index_(index) {}

    /// Where memory may be read. Optional, since a fault is survived, but debuggers stop at each.
    void set_regions(const platform::PageVector<platform::MemoryRegion>* regions) noexcept
    {
        regions_ = regions;
        reader_ = Reader(regions);
    }

    /// Ends the search as soon as all blocks that are `wanted` (one byte a node) have been reached.
    void stop_when_reached(const platform::PageVector<std::uint8_t>& wanted, std::size_t count) noexcept
    {
        wanted_ = &wanted;
        wanted_left_ = count;
    }

    /// A word that is no pointer as it is may be one when masked: for pointers with bits of the program's own in them.
    void set_pointer_mask(std::uintptr_t mask) noexcept { pointer_mask_ = mask; }

    /// How many threads of the system's help to follow pointers, and from how many blocks at one distance on; it is asked
    /// when there are that many. The links of blocks that several ways of the same length lead to are then those of any
    /// of them.
    void share_work(unsigned (*helpers)() noexcept, std::size_t worth_sharing) noexcept
    {
        helpers_ = helpers;
        worth_sharing_ = worth_sharing;
    }

    /// Follows everything. Roots of a lower index win among ways of the same length. False when memory ran out.
    [[nodiscard]] bool search(std::span<const RootRange> roots) noexcept;

    [[nodiscard]] bool is_reached(Node node) const noexcept { return links_[node].is_set(); }
    [[nodiscard]] Link link(Node node) const noexcept { return links_[node]; }
    /// The blocks reached, nearest first.
    [[nodiscard]] std::span<const Node> order() const noexcept { return queue_; }
    /// Whether search() ended early: what is not reached may yet be.
    [[nodiscard]] bool ended_early() const noexcept { return wanted_ != nullptr && wanted_left_ == 0; }

    /// Pointers from each unreached block to unreached ones, in order of `from`. False when memory ran out.
    [[nodiscard]] bool edges_of_unreached(platform::PageVector<Edge>& edges) noexcept;
    /// Pointers from each reached block to blocks, in order of `from`.
    [[nodiscard]] bool edges_of_reached(platform::PageVector<Edge>& edges) noexcept;
    /// Pointers to the blocks that are `wanted` (one byte a node): from roots, and from all blocks, reached or not, other
    /// than itself. In order of where they lie.
    [[nodiscard]] bool pointers_to(const platform::PageVector<std::uint8_t>& wanted, std::span<const RootRange> roots,
                                   platform::PageVector<RootPointer>& from_roots,
                                   platform::PageVector<Edge>& edges) noexcept;

private:
    /// Reads memory for one thread.
    class Reader {
    public:
        explicit Reader(const platform::PageVector<platform::MemoryRegion>* regions = nullptr) noexcept
            : regions_(regions)
        {}
        template <class Visit>
        void read_words(std::uintptr_t begin, std::uintptr_t end, Visit visit) noexcept;

    private:
        [[nodiscard]] std::uintptr_t next_readable(std::uintptr_t address) noexcept;

        const platform::PageVector<platform::MemoryRegion>* regions_;
        std::uintptr_t readable_begin_ = 0; ///< of the region that was last read in
        std::uintptr_t readable_end_ = ~std::uintptr_t{0};
    };
    class SharedLevels;

    void follow_level(std::size_t begin, std::size_t end) noexcept;
    template <class Visit>
    void follow(std::size_t place, std::size_t known_end, Reader& reader, Visit visit) const noexcept;
    void prefetch_around(std::size_t next, std::size_t end) const noexcept;
    [[nodiscard]] bool done() const noexcept { return out_of_memory_ || ended_early(); }
    [[nodiscard]] bool nothing_is_wanted() noexcept
    {
        return wanted_ != nullptr && base::AtomicRef(wanted_left_).load_relaxed() == 0;
    }
    [[nodiscard]] Node node_at(std::uintptr_t word) const noexcept;
    template <class Visit>
    void read_root(const RootRange& range, Visit visit) noexcept;
    void reach(Node node, Link link) noexcept;
    void add_edges(Node from, bool reached_targets, platform::PageVector<Edge>& edges) noexcept;

    const BlockIndex& index_;
    const platform::PageVector<platform::MemoryRegion>* regions_ = nullptr;
    const platform::PageVector<std::uint8_t>* wanted_ = nullptr;
    std::size_t wanted_left_ = 0;
    std::uintptr_t pointer_mask_ = ~std::uintptr_t{0};
    unsigned (*helpers_)() noexcept = nullptr;
    std::size_t worth_sharing_ = 0;
    Reader reader_;
    platform::PageVector<Link> links_;
    platform::PageVector<Node> queue_;
    bool out_of_memory_ = false;
};

} // namespace heapmark::analyse
