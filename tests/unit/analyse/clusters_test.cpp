// SPDX-License-Identifier: BSL-1.0
// Held survivors by their holder, on invented ways.
#include "analyse/clusters.hpp"

#include <doctest/doctest.h>

using namespace heapmark;

namespace {

void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); } // NOLINT

Block block(std::uintptr_t address, std::size_t size)
{
    Block made;
    made.address = at(address);
    made.size = size;
    return made;
}

Path path(std::uintptr_t root, std::size_t offset, std::vector<Block> blocks)
{
    Path made;
    made.root.address = at(root);
    made.root.offset = offset;
    for (const Block& one : blocks) made.steps.push_back({one, 8});
    return made;
}

} // namespace

TEST_CASE("survivors behind the same older block are one cluster, and so are those of one variable")
{
    const Block old = block(0x1000, 80);
    const Block a = block(0x2000, 10);
    const Block b = block(0x3000, 20);
    const Block under_b = block(0x4000, 30);
    const Block first_field = block(0x5000, 7);
    const Block second_field = block(0x6000, 8);
    const Block other = block(0x7000, 1);
    const Snapshot survivors = Snapshot::of({a, b, under_b, first_field, second_field, other});
    const std::vector<analyse::HeldBlock> held{
        {&survivors[0], path(0x100, 0, {old, a})},          {&survivors[1], path(0x100, 0, {old, b})},
        {&survivors[2], path(0x100, 0, {old, b, under_b})}, {&survivors[3], path(0x200, 0, {first_field})},
        {&survivors[4], path(0x210, 16, {second_field})},   {&survivors[5], path(0x220, 0, {other})},
    };
    const std::vector<Cluster> clusters = analyse::clusters(held, survivors);
    REQUIRE(clusters.size() == 3);
    CHECK(clusters[0].blocks.bytes() == 60);
    CHECK(clusters[0].entries == 2);
    REQUIRE(clusters[0].path.steps.size() == 2);
    CHECK(clusters[0].path.steps[0].block.address == old.address);
    CHECK(clusters[1].blocks.bytes() == 15);
    CHECK(clusters[1].entries == 2);
    CHECK(clusters[2].blocks.bytes() == 1);
    CHECK(analyse::clusters({}, survivors).empty());
}
