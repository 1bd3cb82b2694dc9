// SPDX-License-Identifier: BSL-1.0
// Dominated bytes, against the definition: take the block away and look what else can no longer be reached.
#include "analyse/dominators.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace heapmark::analyse;

namespace {

std::vector<bool> reached(std::size_t count, const std::vector<Node>& entries, const std::vector<Edge>& edges,
                          Node without = no_node)
{
    std::vector<bool> seen(count, false);
    std::vector<Node> todo;
    const auto visit = [&](Node node) {
        if (node == without || seen[node]) return;
        seen[node] = true;
        todo.push_back(node);
    };
    for (const Node entry : entries) visit(entry);
    while (!todo.empty()) {
        const Node from = todo.back();
        todo.pop_back();
        for (const Edge& edge : edges)
            if (edge.from == from) visit(edge.to);
    }
    return seen;
}

} // namespace

TEST_CASE("what goes with a block is what cannot be reached without it")
{
    std::mt19937 random(3);
    for (int round = 0; round < 150; ++round) {
        const auto count = static_cast<Node>(1 + random() % 40);
        std::vector<std::uint64_t> bytes;
        for (Node node = 0; node < count; ++node) bytes.push_back(1 + random() % 100);
        std::vector<Node> entries;
        for (Node node = 0; node < count; ++node)
            if (random() % 8 == 0) entries.push_back(node);
        std::vector<Edge> edges;
        for (auto i = random() % (3 * count); i > 0; --i)
            edges.push_back({static_cast<Node>(random() % count), static_cast<Node>(random() % count), 0});
        std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.from < b.from; });

        const std::vector<std::uint64_t> found = dominated_bytes(bytes, entries, edges);
        REQUIRE(found.size() == count);
        const std::vector<bool> before = reached(count, entries, edges);
        for (Node node = 0; node < count; ++node) {
            const std::vector<bool> after = reached(count, entries, edges, node);
            std::uint64_t expected = 0;
            for (Node other = 0; other < count; ++other)
                if (before[node] && before[other] && !after[other]) expected += bytes[other];
            REQUIRE(found[node] == expected);
        }
    }
}

TEST_CASE("a list of a million blocks, linked both ways")
{
    constexpr Node count = 1'000'000;
    const std::vector<std::uint64_t> bytes(count, 10);
    std::vector<Edge> edges;
    for (Node node = 0; node < count; ++node) {
        if (node > 0) edges.push_back({node, node - 1, 0});
        if (node + 1 < count) edges.push_back({node, node + 1, 8});
    }
    const std::vector<Node> entries{0};
    const std::vector<std::uint64_t> found = dominated_bytes(bytes, entries, edges);
    CHECK(found[0] == 10ULL * count);
    CHECK(found[count / 2] == 10ULL * (count / 2));
    CHECK(found[count - 1] == 10);
    CHECK(dominated_bytes({}, {}, {}).empty());
}
