// SPDX-License-Identifier: BSL-1.0
#include "record/mapping_set.hpp"

#include "record/arena.hpp"

#include <iterator>
#include <new>

namespace heapmark::record {

MappingSet::Node* MappingSet::make(const Mapping& mapping) noexcept
{
    Node* node = nullptr;
    if (unused_.empty())
        for (Node* next = forgotten_.exchange(nullptr, std::memory_order_acquire); next != nullptr;
             next = next->next_forgotten)
            unused_.push_front(*next);
    if (!unused_.empty()) {
        node = &unused_.front();
        unused_.pop_front();
    } else if (void* memory = allocate_for_ever(sizeof(Node)))
        node = new (memory) Node;
    else
        ++unrecorded_;
    if (node != nullptr) node->mapping = mapping;
    return node;
}

MappingSet::Tree::iterator MappingSet::first_that_ends_after(std::uintptr_t address) noexcept
{
    const auto at = tree_.upper_bound(address);
    if (at == tree_.begin()) return at;
    const auto before = std::prev(at);
    return before->mapping.end > address ? before : at;
}

const Mapping* MappingSet::find(std::uintptr_t address) const noexcept
{
    const auto at = tree_.upper_bound(address);
    if (at == tree_.begin()) return nullptr;
    const Mapping& before = std::prev(at)->mapping;
    return before.end > address ? &before : nullptr;
}

bool MappingSet::insert(Node& node) noexcept
{
    const auto at = first_that_ends_after(node.mapping.begin);
    if (at != tree_.end() && at->mapping.begin < node.mapping.end) return false;
    tree_.insert_before(at, node);
    return true;
}

void MappingSet::put(const Mapping& mapping) noexcept
{
    Pieces replaced;
    take(mapping.begin, mapping.end, replaced);
    forget(replaced);
    if (Node* node = make(mapping)) insert(*node);
}

void MappingSet::take(std::uintptr_t begin, std::uintptr_t end, Pieces& taken) noexcept
{
    if (begin >= end) return;
    auto at = first_that_ends_after(begin);
    while (at != tree_.end() && at->mapping.begin < end) {
        Node& node = *at++;
        const Mapping whole = node.mapping;
        if (whole.begin >= begin && whole.end <= end) {
            move_out(node, taken);
            continue;
        }
        // The node becomes what stays of it, which leaves the order as it is.
        if (whole.begin < begin) {
            node.mapping.end = begin;
            if (whole.end > end) {
                Mapping right = whole;
                right.begin = end;
                if (Node* made = make(right)) tree_.insert_before(at, *made);
            }
        } else
            node.mapping.begin = end;
        Mapping part = whole;
        part.begin = std::max(begin, whole.begin);
        part.end = std::min(end, whole.end);
        if (Node* made = make(part)) taken.push_front(*made);
    }
}

void MappingSet::put_part_back(Mapping part, std::uintptr_t begin, std::uintptr_t end) noexcept
{
    part.begin = begin;
    part.end = end;
    Node* const node = make(part);
    if (node == nullptr) return;
    if (insert(*node))
        join(*node);
    else
        unused_.push_front(*node);
}

void MappingSet::join(Node& node) noexcept
{
    const auto belong_together = [](const Mapping& left, const Mapping& right) {
        return left.end == right.begin && left.birth.number == right.birth.number;
    };
    Node* joined = &node;
    const auto at = tree_.iterator_to(node);
    if (at != tree_.begin() && belong_together(std::prev(at)->mapping, node.mapping)) {
        joined = &*std::prev(at);
        joined->mapping.end = node.mapping.end;
        tree_.erase(at);
        unused_.push_front(node);
    }
    const auto next = std::next(tree_.iterator_to(*joined));
    if (next == tree_.end() || !belong_together(joined->mapping, next->mapping)) return;
    Node& right = *next;
    joined->mapping.end = right.mapping.end;
    tree_.erase(next);
    unused_.push_front(right);
}

} // namespace heapmark::record
