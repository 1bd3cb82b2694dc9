// SPDX-License-Identifier: BSL-1.0
// Searches over invented heaps: memory of the test's own that plays blocks and roots, against a plain model.
#include "analyse/lost_groups.hpp"
#include "analyse/reachability.hpp"
#include "platform/guarded_copy.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <set>
#include <sys/mman.h>
#include <sys/resource.h>
#include <vector>

using namespace heapmark;
using analyse::BlockIndex;
using analyse::Edge;
using analyse::Extent;
using analyse::Link;
using analyse::no_node;
using analyse::Node;
using analyse::Reachability;
using analyse::RootRange;

namespace {

unsigned three() noexcept { return 3; }

Extent extent(std::uintptr_t begin, std::size_t bytes, std::size_t slack_bytes = 0)
{
    Extent made{};
    made.begin = begin;
    made.bytes = bytes & 0xffff'ffff'ffff;
    made.slack_bytes = slack_bytes & 0xffff;
    return made;
}

/// By comparing with every block.
Node find_by_hand(const std::vector<Extent>& blocks, std::uintptr_t address)
{
    for (Node node = 0; node < blocks.size(); ++node)
        if (address >= blocks[node].begin && address < blocks[node].end()) return node;
    return no_node;
}

/// Blocks in memory that is really there, each with room for 8 words.
class InventedHeap {
public:
    explicit InventedHeap(std::size_t count) : memory_(count * stride_words + 4)
    {
        const auto first = (reinterpret_cast<std::uintptr_t>(memory_.data()) + 31) & ~std::uintptr_t{31};
        for (std::size_t i = 0; i < count; ++i) blocks.push_back(extent(first + i * stride_words * 8, words * 8));
        index_is_built = index.build(blocks);
    }

    std::uintptr_t& word(Node node, std::size_t i) const
    {
        return reinterpret_cast<std::uintptr_t*>(blocks[node].begin)[i];
    }
    void point(Node from, std::size_t i, Node to, std::size_t inside = 0) const
    {
        word(from, i) = blocks[to].begin + inside;
    }

    static constexpr std::size_t words = 8;
    std::vector<Extent> blocks;
    BlockIndex index;
    bool index_is_built = false;

private:
    static constexpr std::size_t stride_words = 12;
    std::vector<std::uintptr_t> memory_;
};

std::vector<RootRange> roots_of(const std::vector<std::uintptr_t>& words)
{
    const auto begin = reinterpret_cast<std::uintptr_t>(words.data());
    return {{begin, begin + words.size() * 8, false}};
}

} // namespace

TEST_CASE("the block around an address, as by comparing with every block")
{
    std::mt19937_64 random(1);
    std::vector<Extent> blocks;
    std::uintptr_t at = 0x7f00'0000'0000;
    for (int i = 0; i < 3000; ++i) {
        at += 16 * (random() % 8);
        if (random() % 500 == 0) at += std::uintptr_t{200} << 20;
        std::size_t bytes = 1 + random() % 200;
        if (random() % 600 == 0) bytes = (std::size_t{64} << 20) * (1 + random() % 3) + random() % 1000;
        blocks.push_back(extent(at, bytes));
        at = (at + std::max<std::size_t>(bytes + 8, 32) + 15) & ~std::uintptr_t{15};
    }
    BlockIndex index;
    REQUIRE(index.build(blocks));
    for (const Extent& block : blocks)
        for (const std::uintptr_t address : {block.begin, block.begin - 1, block.end() - 1, block.end()})
            CHECK(index.find(address) == find_by_hand(blocks, address));
    for (int i = 0; i < 3000; ++i) {
        const std::uintptr_t address = blocks.front().begin + random() % (at - blocks.front().begin);
        CHECK(index.find(address) == find_by_hand(blocks, address));
    }
    CHECK(index.find(0) == no_node);
    CHECK(index.find(~std::uintptr_t{0}) == no_node);
    BlockIndex empty;
    REQUIRE(empty.build({}));
    CHECK(empty.find(0x1000) == no_node);
}

TEST_CASE("several threads reach the same blocks as one, by ways as short")
{
    std::mt19937_64 random(7);
    for (int round = 0; round < 30; ++round) {
        const InventedHeap heap(20'000);
        REQUIRE(heap.index_is_built);
        const auto any = [&] { return static_cast<Node>(random() % heap.blocks.size()); };
        for (Node node = 0; node < heap.blocks.size(); ++node)
            for (std::size_t i = random() % 3; i > 0; --i) heap.point(node, random() % InventedHeap::words, any());
        std::vector<std::uintptr_t> roots(50);
        for (std::uintptr_t& word : roots) word = heap.blocks[any()].begin;

        const platform::FaultGuard guard;
        Reachability alone(heap.index);
        Reachability together(heap.index);
        together.share_work(three, 16);
        const std::vector<RootRange> ranges = roots_of(roots);
        REQUIRE(alone.search(ranges));
        REQUIRE(together.search(ranges));
        REQUIRE(together.order().size() == alone.order().size());
        const auto length = [](const Reachability& search, Node node) {
            std::size_t steps = 0;
            for (; !search.link(node).is_root(); node = search.link(node).node()) ++steps;
            return steps;
        };
        std::size_t different = 0;
        std::size_t last = 0;
        for (const Node node : together.order()) {
            const std::size_t steps = length(together, node);
            if (!alone.is_reached(node) || steps != length(alone, node) || steps < last) ++different;
            last = steps;
        }
        CHECK(different == 0);

        // It ends early when what is wanted has been reached.
        platform::PageVector<std::uint8_t> wanted;
        REQUIRE(wanted.resize(heap.blocks.size()));
        wanted[alone.order()[alone.order().size() / 2]] = 1;
        Reachability ending(heap.index);
        ending.share_work(three, 16);
        ending.stop_when_reached(wanted, 1);
        REQUIRE(ending.search(ranges));
        CHECK(ending.ended_early());
        CHECK(ending.is_reached(alone.order()[alone.order().size() / 2]));
    }
}

TEST_CASE("blocks that lie terabytes apart cost no more than near ones")
{
    const auto faults = [] {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_minflt;
    };
    const std::vector<Extent> blocks{extent(0x5500'0000'0000, 100), extent(0x7f00'0000'0000, 100)};
    BlockIndex index;
    const long before = faults();
    REQUIRE(index.build(blocks));
    CHECK(index.find(blocks[0].begin) == 0);
    CHECK(index.find(blocks[1].begin) == 1);
    CHECK(faults() - before < 200);
}

TEST_CASE("each block is reached by a shortest way, whose words are where they are said to be")
{
    InventedHeap heap(5);
    REQUIRE(heap.index_is_built);
    heap.point(0, 3, 1);
    heap.point(1, 0, 2, 63); // the last byte
    heap.point(0, 7, 2, 8);
    heap.word(2, 5) = heap.blocks[3].end(); // one past the end is not inside
    const std::vector<std::uintptr_t> words{7, heap.blocks[0].begin + 1};
    Reachability search(heap.index);
    REQUIRE(search.search(roots_of(words)));

    CHECK(search.link(0).is_root());
    CHECK(search.link(0).root() == 0);
    CHECK(search.link(0).offset() == 8);
    CHECK(search.link(1).node() == 0);
    CHECK(search.link(1).offset() == 24);
    CHECK(search.link(2).node() == 0);
    CHECK(search.link(2).offset() == 56);
    CHECK_FALSE(search.is_reached(3));
    CHECK_FALSE(search.is_reached(4));
    CHECK(search.order().size() == 3);
}

TEST_CASE("an allocator's pointer to the header behind a block is no pointer into the block")
{
    InventedHeap heap(1);
    std::vector<std::uintptr_t> words{heap.blocks[0].end() - 8};
    std::vector<RootRange> roots = roots_of(words);
    roots[0].of_allocator = true;
    Reachability of_allocator(heap.index);
    REQUIRE(of_allocator.search(roots));
    CHECK_FALSE(of_allocator.is_reached(0));
    roots[0].of_allocator = false;
    Reachability of_program(heap.index);
    REQUIRE(of_program.search(roots));
    CHECK(of_program.is_reached(0));
}

TEST_CASE("memory that cannot be read is passed by, and what lies behind it is read")
{
    constexpr std::size_t page = 4096;
    auto* pages =
        static_cast<char*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(pages != MAP_FAILED);
    InventedHeap heap(2);
    *reinterpret_cast<std::uintptr_t*>(pages + page - 8) = heap.blocks[0].begin;
    *reinterpret_cast<std::uintptr_t*>(pages + 3 * page) = heap.blocks[1].begin;
    REQUIRE(mprotect(pages + page, page, PROT_NONE) == 0);
    REQUIRE(munmap(pages + 2 * page, page) == 0);

    platform::PageVector<platform::MemoryRegion> regions;
    REQUIRE(platform::read_memory_regions(regions));
    const auto begin = reinterpret_cast<std::uintptr_t>(pages);
    for (const bool told : {false, true}) {
        const platform::FaultGuard guard;
        const RootRange root{begin, begin + 4 * page, false};
        Reachability search(heap.index);
        if (told) search.set_regions(&regions);
        REQUIRE(search.search({&root, 1}));
        CHECK(search.is_reached(0));
        CHECK(search.is_reached(1));
    }
    munmap(pages, 4 * page);
}

TEST_CASE("random graphs: reached and lost as a model says, and each lost block in one group")
{
    std::mt19937 random(7);
    for (int round = 0; round < 60; ++round) {
        const auto count = static_cast<Node>(2 + random() % 120);
        InventedHeap heap(count);
        REQUIRE(heap.index_is_built);
        std::vector<std::set<Node>> targets(count);
        const auto pointers = static_cast<unsigned>(random() % (2 * count));
        for (unsigned i = 0; i < pointers; ++i) {
            const Node from = static_cast<Node>(random() % count);
            const Node to = static_cast<Node>(random() % count);
            const std::size_t word = random() % InventedHeap::words;
            const std::uintptr_t before = heap.word(from, word);
            if (before != 0) continue;
            heap.point(from, word, to, random() % 64);
            targets[from].insert(to);
        }
        std::vector<std::uintptr_t> words;
        std::vector<unsigned> distance(count, ~0U);
        std::deque<Node> queue;
        for (auto i = random() % 5; i > 0; --i) {
            const Node node = static_cast<Node>(random() % count);
            words.push_back(heap.blocks[node].begin);
            if (distance[node] == ~0U) queue.push_back(node);
            distance[node] = 0;
        }
        for (; !queue.empty(); queue.pop_front())
            for (const Node to : targets[queue.front()])
                if (distance[to] == ~0U) {
                    distance[to] = distance[queue.front()] + 1;
                    queue.push_back(to);
                }

        Reachability search(heap.index);
        REQUIRE(search.search(roots_of(words)));
        std::vector<Node> lost;
        for (Node node = 0; node < count; ++node) {
            REQUIRE(search.is_reached(node) == (distance[node] != ~0U));
            if (distance[node] == ~0U) {
                lost.push_back(node);
                continue;
            }
            unsigned steps = 0;
            for (Node at = node; !search.link(at).is_root(); at = search.link(at).node()) {
                REQUIRE(targets[search.link(at).node()].count(at) == 1);
                ++steps;
            }
            REQUIRE(steps == distance[node]);
        }

        platform::PageVector<Edge> edges;
        REQUIRE(search.edges_of_unreached(edges));
        std::set<Node> grouped;
        const std::vector<Node> preferred(lost.begin(), lost.begin() + static_cast<std::ptrdiff_t>(lost.size() / 2));
        for (const analyse::LostGroup& group : analyse::lost_groups(lost, edges, preferred)) {
            REQUIRE(std::is_sorted(group.members.begin(), group.members.end()));
            for (const Node member : group.members) REQUIRE(grouped.insert(member).second);
            // Whoever points to the root is reached from it: the root is on a cycle then.
            std::set<Node> below{group.root};
            std::deque<Node> todo{group.root};
            for (; !todo.empty(); todo.pop_front())
                for (const Node to : targets[todo.front()])
                    if (below.insert(to).second) todo.push_back(to);
            for (const Node member : group.members) REQUIRE(below.count(member) == 1);
            for (const Node from : lost)
                if (targets[from].count(group.root) != 0) REQUIRE(below.count(from) == 1);
            REQUIRE(group.cycle.empty() == std::none_of(lost.begin(), lost.end(), [&](Node from) {
                        return targets[from].count(group.root) != 0;
                    }));
            for (std::size_t i = 0; i < group.cycle.size(); ++i) {
                const Edge& edge = group.cycle[i];
                const Node next = i + 1 == group.cycle.size() ? group.root : group.cycle[i + 1].from;
                REQUIRE(edge.to == next);
                const std::uintptr_t word = heap.word(edge.from, edge.offset / 8);
                REQUIRE(find_by_hand(heap.blocks, word) == next);
            }
        }
        REQUIRE(grouped.size() == lost.size());
    }
}

TEST_CASE("the search ends as soon as all that was asked about is reached")
{
    InventedHeap heap(3);
    heap.point(0, 0, 1);
    heap.point(1, 0, 2);
    platform::PageVector<std::uint8_t> wanted;
    REQUIRE(wanted.resize(3));
    wanted[1] = 1;
    const std::vector<std::uintptr_t> words{heap.blocks[0].begin};
    Reachability search(heap.index);
    search.stop_when_reached(wanted, 1);
    REQUIRE(search.search(roots_of(words)));
    CHECK(search.ended_early());
    CHECK(search.is_reached(1));
    CHECK_FALSE(search.is_reached(2));
}
