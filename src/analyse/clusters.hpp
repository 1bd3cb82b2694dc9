// SPDX-License-Identifier: BSL-1.0
// Held survivors by what holds them: those that hang on the same older block, or the same variable, are one cluster.
#pragma once

#include <heapmark/heapmark.hpp>

#include <span>
#include <vector>

namespace heapmark::analyse {

/// A held survivor and the way to it.
struct HeldBlock {
    const Block* block;
    Path path;
};

/// Clusters, largest first (requested bytes, then blocks, then address of the first block). Every block is in one.
/// `survivors` is what was asked about: the holder is the last on the way before the first of them.
[[nodiscard]] std::vector<Cluster> clusters(std::span<const HeldBlock> held, const Snapshot& survivors);

} // namespace heapmark::analyse
