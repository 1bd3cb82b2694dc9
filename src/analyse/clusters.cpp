// SPDX-License-Identifier: BSL-1.0
#include "analyse/clusters.hpp"

#include "snapshot/snapshot_access.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace heapmark::analyse {
namespace {

bool contains(const Snapshot& snapshot, const void* address)
{
    const auto lower = [](const Block& block, const void* value) { return std::less<>{}(block.address, value); };
    const Block* found = std::lower_bound(snapshot.begin(), snapshot.end(), address, lower);
    return found != snapshot.end() && found->address == address;
}

std::size_t first_survivor(const Path& path, const Snapshot& survivors)
{
    std::size_t step = 0;
    while (step + 1 < path.steps.size() && !contains(survivors, path.steps[step].block.address)) ++step;
    return step;
}

/// The older block before the first survivor; else the variable, or the pointer where that has no name.
const void* holder_of(const Path& path, std::size_t first)
{
    if (first > 0) return path.steps[first - 1].block.address;
    return static_cast<const char*>(path.root.address) - path.root.offset;
}

bool larger(const Cluster& a, const Cluster& b)
{
    if (a.blocks.bytes() != b.blocks.bytes()) return a.blocks.bytes() > b.blocks.bytes();
    if (a.blocks.size() != b.blocks.size()) return a.blocks.size() > b.blocks.size();
    return std::less<>{}(a.blocks[0].address, b.blocks[0].address);
}

} // namespace

std::vector<Cluster> clusters(std::span<const HeldBlock> held, const Snapshot& survivors)
{
    std::map<const void*, std::size_t, std::less<>> known;
    std::vector<Cluster> list;
    for (const HeldBlock& one : held) {
        const std::size_t first = first_survivor(one.path, survivors);
        const auto [at, is_new] = known.try_emplace(holder_of(one.path, first), list.size());
        if (is_new) {
            Cluster& made = list.emplace_back();
            made.blocks = SnapshotAccess::without_blocks(survivors);
            made.path = one.path;
            made.path.steps.resize(first + 1);
            made.entries = 0;
        }
        Cluster& cluster = list[at->second];
        SnapshotAccess::append(cluster.blocks, *one.block);
        if (first + 1 == one.path.steps.size()) ++cluster.entries;
    }
    std::sort(list.begin(), list.end(), larger);
    return list;
}

} // namespace heapmark::analyse
