// SPDX-License-Identifier: BSL-1.0
#include "invented_names.hpp"
#include "platform/thread_state.hpp"
#include "snapshot/snapshot_access.hpp"

#include <doctest/doctest.h>

using namespace heapmark;
using namespace heapmark::test;

TEST_CASE("a snapshot is ordered by address and knows its sums")
{
    const Snapshot snapshot =
        Snapshot::of({block_at(0x300, 3, {}, 4), block_at(0x100, 1, {}, 9), block_at(0x200, 2, {}, 2)});
    REQUIRE(snapshot.size() == 3);
    CHECK(snapshot.bytes() == 6);
    CHECK(snapshot[0].size == 1);
    CHECK(snapshot[2].size == 3);
    CHECK(snapshot.first() == Generation{2});
    CHECK(snapshot.last() == Generation{9});
    CHECK(Snapshot::of({}).empty());
}

TEST_CASE("filtering keeps the question and adds up anew")
{
    std::vector<Block> blocks{block_at(0x100, 1), block_at(0x200, 20), block_at(0x300, 300)};
    const Snapshot all = SnapshotAccess::make(std::move(blocks), Generation{3}, SnapshotAccess::open_end, 7);
    const Snapshot large = all.filter([](const Block& block) { return block.size > 10; });
    CHECK(large.size() == 2);
    CHECK(large.bytes() == 320);
    CHECK(large.first() == Generation{3});
    CHECK(large.last() == SnapshotAccess::open_end);
    CHECK(large.unrecorded() == 7);
    CHECK(all.filter([](const Block&) { return false; }).empty());
    CHECK(all.filter(on_thread(ThreadId{1})).size() == 3);
    CHECK(all.filter(on_thread(ThreadId{2})).empty());
}

TEST_CASE("copies are equal and apart, and leave no guard behind")
{
    const std::uint32_t depth = platform::thread_state.guard_depth;
    Snapshot original = Snapshot::of({block_at(0x100, 1), block_at(0x200, 2)});
    Snapshot copy = original;
    original = Snapshot{};
    CHECK(copy.size() == 2);
    CHECK(copy.bytes() == 3);
    Snapshot& same = copy;
    copy = same;
    CHECK(copy.size() == 2);
    CHECK(platform::thread_state.guard_depth == depth);
}
