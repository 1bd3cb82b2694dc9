// SPDX-License-Identifier: BSL-1.0
#include "invented_names.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <tuple>

using namespace heapmark;
using namespace heapmark::test;

TEST_CASE("a block is the same when address, generation, stack and size are")
{
    const Frame f{0x10};
    const Frame g{0x20};
    const Stack in_f(&f, 1);
    const Stack in_g(&g, 1);
    const Snapshot older =
        Snapshot::of({block_at(0x100, 1, in_f, 1), block_at(0x200, 2, in_f, 1), block_at(0x300, 3, in_f, 1),
                      block_at(0x400, 4, in_f, 1), block_at(0x500, 5, in_f, 1)});
    const Snapshot newer =
        Snapshot::of({block_at(0x100, 1, in_f, 1), block_at(0x200, 9, in_f, 1), block_at(0x300, 3, in_g, 1),
                      block_at(0x400, 4, in_f, 2), block_at(0x600, 6, in_f, 2)});
    const Difference change = diff(older, newer);
    CHECK(change.kept.size() == 1);
    CHECK(change.kept[0].address == reinterpret_cast<void*>(0x100));
    CHECK(change.gone.bytes() == 2 + 3 + 4 + 5);
    CHECK(change.appeared.bytes() == 9 + 3 + 4 + 6);

    const Difference nothing = Snapshot::diff(older, older);
    CHECK(nothing.kept.size() == older.size());
    CHECK(nothing.appeared.empty());
    CHECK(nothing.gone.empty());
    CHECK(diff(Snapshot{}, newer).appeared.size() == newer.size());
    CHECK(diff(older, Snapshot{}).gone.size() == older.size());
}

TEST_CASE("differences of random snapshots agree with counting")
{
    std::mt19937 random(7);
    using Key = std::tuple<const void*, std::size_t, Generation>;
    for (int round = 0; round < 200; ++round) {
        const auto some_blocks = [&] {
            std::vector<Block> blocks;
            for (auto left = random() % 40; left > 0; --left)
                blocks.push_back(block_at(0x10 * (random() % 12), random() % 2 + 1, {}, random() % 2));
            return Snapshot::of(blocks);
        };
        const Snapshot older = some_blocks();
        const Snapshot newer = some_blocks();
        std::map<Key, std::pair<unsigned, unsigned>> counted;
        for (const Block& b : older) ++counted[{b.address, b.size, b.generation}].first;
        for (const Block& b : newer) ++counted[{b.address, b.size, b.generation}].second;
        std::size_t kept = 0;
        for (const auto& [key, times] : counted) kept += std::min(times.first, times.second);

        const Difference change = diff(older, newer);
        REQUIRE(change.kept.size() == kept);
        REQUIRE(change.appeared.size() == newer.size() - kept);
        REQUIRE(change.gone.size() == older.size() - kept);
    }
}
