// SPDX-License-Identifier: BSL-1.0
// Both lists are ordered by address, so one walk along both tells which blocks they share.
#include "analyse/group.hpp"
#include "snapshot/snapshot_access.hpp"

#include <functional>
#include <vector>

namespace heapmark::analyse {

namespace {

bool same(const Block& a, const Block& b) noexcept
{
    return a.generation == b.generation && a.size == b.size && a.stack == b.stack;
}

const Block* end_of_address(const Block* first, const Block* end) noexcept
{
    const void* const address = first->address;
    while (first != end && first->address == address) ++first;
    return first;
}

} // namespace

Difference difference(const Snapshot& older, const Snapshot& newer)
{
    Difference result{SnapshotAccess::without_blocks(newer), SnapshotAccess::without_blocks(older),
                      SnapshotAccess::without_blocks(newer)};
    const Block* was = older.begin();
    const Block* is = newer.begin();
    const std::less<> lower;
    std::vector<const Block*> unmatched;
    while (was != older.end() || is != newer.end()) {
        if (is == newer.end() || (was != older.end() && lower(was->address, is->address))) {
            SnapshotAccess::append(result.gone, *was++);
            continue;
        }
        if (was == older.end() || lower(is->address, was->address)) {
            SnapshotAccess::append(result.appeared, *is++);
            continue;
        }
        // One address: a single block in a snapshot of a process, any number in an invented one.
        const Block* const was_end = end_of_address(was, older.end());
        const Block* const is_end = end_of_address(is, newer.end());
        unmatched.clear();
        for (; was != was_end; ++was) unmatched.push_back(was);
        for (; is != is_end; ++is) {
            std::size_t i = 0;
            while (i < unmatched.size() && !same(*unmatched[i], *is)) ++i;
            SnapshotAccess::append(i < unmatched.size() ? result.kept : result.appeared, *is);
            if (i < unmatched.size()) unmatched.erase(unmatched.begin() + static_cast<std::ptrdiff_t>(i));
        }
        for (const Block* block : unmatched) SnapshotAccess::append(result.gone, *block);
    }
    return result;
}

} // namespace heapmark::analyse
