// SPDX-License-Identifier: BSL-1.0
// Which addresses are mapped, by which call: ranges that do not overlap, ordered. Knows neither locks nor the system.
#pragma once

#include <heapmark/fwd.hpp>

#include <boost/intrusive/set.hpp>
#include <boost/intrusive/slist.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heapmark::record {

/// One call that mapped something. What munmap leaves of it in several places are pieces of the same birth.
struct MappingBirth {
    std::uint64_t number = 0;   ///< no two births have the same
    std::uintptr_t address = 0; ///< that the call returned
    std::uint32_t generation = 0;
    std::uint32_t thread = 0;
    std::uint32_t site = 0;
    Api api = Api::unknown;
    bool ignored = false;
    std::uint8_t page_shift = 12; ///< of the pages that it lies in: huge ones have more
};

/// Whole pages [begin, end), of which the program asked for those up to `requested_end`.
struct Mapping {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::uintptr_t requested_end = 0;
    MappingBirth birth;

    [[nodiscard]] std::size_t requested_bytes() const noexcept { return std::clamp(requested_end, begin, end) - begin; }
};

/// On pages that are never given back. One thread at a time, unless a function says otherwise.
class MappingSet {
    struct Node : boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>,
                  boost::intrusive::slist_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> {
        Mapping mapping;
        Node* next_forgotten = nullptr;
    };
    struct BeginOf {
        using type = std::uintptr_t;
        const type& operator()(const Node& node) const noexcept { return node.mapping.begin; }
    };
    using Tree = boost::intrusive::set<Node, boost::intrusive::key_of_value<BeginOf>,
                                       boost::intrusive::constant_time_size<true>>;

public:
    /// Pieces that were taken out, in any order, until they are put back or forgotten.
    using Pieces = boost::intrusive::slist<Node, boost::intrusive::constant_time_size<false>>;

    MappingSet() = default;
    MappingSet(const MappingSet&) = delete;
    MappingSet& operator=(const MappingSet&) = delete;

    /// Adds a mapping, in place of whatever was there.
    void put(const Mapping& mapping) noexcept;

    /// Takes out all that lies in [begin, end), cutting what lies in it in part.
    void take(std::uintptr_t begin, std::uintptr_t end, Pieces& taken) noexcept;

    /// Takes out the pieces of the birth that `is_it` is true of and that has that address.
    template <class IsIt>
    void take_birth_at(std::uintptr_t address, IsIt is_it, Pieces& taken) noexcept
    {
        // Its first piece may be gone already.
        auto at = tree_.lower_bound(address);
        while (at != tree_.end() && !(at->mapping.birth.address == address && is_it(at->mapping.birth))) ++at;
        const std::uint64_t number = at == tree_.end() ? 0 : at->mapping.birth.number;
        while (at != tree_.end()) {
            Node& node = *at++;
            if (node.mapping.birth.number == number && node.mapping.birth.address == address) move_out(node, taken);
        }
    }

    /// Forgets the pieces but for the parts for which `runs(piece, keep)` calls `keep(begin, end)`: they are put back,
    /// joined as they were. Where something else has come to lie meanwhile, that stays.
    template <class Runs>
    void put_back(Pieces& pieces, Runs runs) noexcept
    {
        while (!pieces.empty()) {
            Node& node = pieces.front();
            pieces.pop_front();
            const Mapping piece = node.mapping;
            unused_.push_front(node); // so that there is a node for the first part
            runs(piece, [&](std::uintptr_t begin, std::uintptr_t end) { put_part_back(piece, begin, end); });
        }
    }

    template <class Visit>
    static void for_pieces(const Pieces& pieces, Visit visit) noexcept
    {
        for (const Node& node : pieces) visit(node.mapping);
    }

    /// Any thread may do so at any time.
    void forget(Pieces& pieces) noexcept
    {
        while (!pieces.empty()) {
            Node& node = pieces.front();
            pieces.pop_front();
            node.next_forgotten = forgotten_.load(std::memory_order_relaxed);
            while (!forgotten_.compare_exchange_weak(node.next_forgotten, &node, std::memory_order_release,
                                                     std::memory_order_relaxed)) {}
        }
    }

    /// The mapping that holds `address`; nullptr when none does.
    [[nodiscard]] const Mapping* find(std::uintptr_t address) const noexcept;

    /// Ascending.
    template <class Visit>
    void visit(Visit visit) const noexcept
    {
        for (const Node& node : tree_) visit(node.mapping);
    }

    [[nodiscard]] std::size_t size() const noexcept { return tree_.size(); }

    /// Mappings, or parts of them, that are missing for want of memory.
    [[nodiscard]] std::uint64_t unrecorded_count() const noexcept { return unrecorded_; }
    void count_unrecorded(std::uint64_t count = 1) noexcept { unrecorded_ += count; }

private:
    Node* make(const Mapping& mapping) noexcept;
    /// False, and nothing happens, where something lies already.
    bool insert(Node& node) noexcept;
    void move_out(Node& node, Pieces& taken) noexcept
    {
        tree_.erase(tree_.iterator_to(node));
        taken.push_front(node);
    }
    void put_part_back(Mapping part, std::uintptr_t begin, std::uintptr_t end) noexcept;
    void join(Node& node) noexcept;
    Tree::iterator first_that_ends_after(std::uintptr_t address) noexcept;

    Tree tree_;
    Pieces unused_;
    std::atomic<Node*> forgotten_{nullptr}; ///< unused as well; all of them are taken at once
    std::uint64_t unrecorded_ = 0;
};

} // namespace heapmark::record
