// SPDX-License-Identifier: BSL-1.0
// What would go with each block: the bytes that can only be reached through it.
#pragma once

#include "analyse/reachability.hpp"

#include <span>
#include <vector>

namespace heapmark::analyse {

/// For each node its own bytes and those of all that it dominates: every way from a root leads through it.
/// `bytes` has one figure a node, `entries` are the nodes that roots point to (ascending), `edges` are ordered by `from`.
/// 0 for nodes that cannot be reached.
/// Cost: a little more than linear in nodes and edges.
[[nodiscard]] std::vector<std::uint64_t> dominated_bytes(std::span<const std::uint64_t> bytes,
                                                         std::span<const Node> entries, std::span<const Edge> edges);

} // namespace heapmark::analyse
