// SPDX-License-Identifier: BSL-1.0
// Sorts unreachable blocks into groups, each under the block (or cycle of blocks) that nothing points to.
#pragma once

#include "analyse/reachability.hpp"

#include <span>
#include <vector>

namespace heapmark::analyse {

struct LostGroup {
    Node root = no_node; ///< of a cycle: its member of the lowest index
    /// The members of a shortest cycle through the root, the root first; empty when the root is on none.
    std::vector<Edge> cycle; ///< each member with the pointer to the next; the last points to the root
    /// All blocks that only this group's root leads to, or that no earlier group holds; the root and its cycle too.
    std::vector<Node> members; ///< ascending
};

/// Every node of `nodes` (ascending, without repeats) is in exactly one group. Groups whose root is `preferred` come
/// first and take what several lead to; then by root. `edges` are ordered by `from`; those that leave `nodes` are
/// passed by.
[[nodiscard]] std::vector<LostGroup> lost_groups(std::span<const Node> nodes, std::span<const Edge> edges,
                                                 std::span<const Node> preferred);

} // namespace heapmark::analyse
