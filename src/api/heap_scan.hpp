// SPDX-License-Identifier: BSL-1.0
// One search for holders: stops the world, reads everything that is needed to explain, and lets the world go on.
#pragma once

#include "analyse/reachability.hpp"
#include "api/root_details.hpp"
#include "platform/raw_write.hpp"
#include "platform/roots.hpp"

#include <heapmark/heapmark.hpp>

namespace heapmark {

/// What the search leaves behind, on pages of its own.
struct HeapScan {
    HeapScan() noexcept : reachability(index) {}

    platform::PageVector<snapshot::Extent> extents; ///< every live block
    analyse::BlockIndex index;
    platform::PageVector<platform::Root> roots;
    analyse::Reachability reachability;
    platform::PageVector<analyse::Node> asked;     ///< node of each block of the snapshot; no_node: gone
    platform::PageVector<RootDetail> root_details; ///< by root and offset
    platform::PageVector<analyse::Edge> lost_edges;
    platform::PageVector<analyse::Edge> held_edges;          ///< for dominated bytes
    platform::PageVector<analyse::RootPointer> root_holders; ///< for holders
    platform::PageVector<analyse::Edge> block_holders;

    struct Known {
        analyse::Node node;
        Block block;
    };
    /// In order of their nodes: what was asked about, what leads there, and all that nothing leads to.
    platform::PageVector<Known> known;

    bool searched = false; ///< else nothing is known of any block
    bool complete = true;
    platform::Line problem; ///< the first that came up
};

/// `entry_stack`: stack of the caller from where it called heapmark, its kept registers on top.
/// The caller holds a Guard and the lock of searches, and there is something to search.
void scan_heap(const Snapshot& snapshot, const ExplainOptions& options, const void* entry_stack,
               HeapScan& scan) noexcept;

} // namespace heapmark
