// SPDX-License-Identifier: BSL-1.0
#include "../analyse/invented_names.hpp"
#include "golden.hpp"
#include "report/explanation_text.hpp"

using namespace heapmark;
using namespace heapmark::test;

namespace {

/// What a search found, in the making.
struct Found {
    std::vector<Block> lost;
    std::vector<Block> held;
    std::vector<LostGroup> lost_groups;
    std::vector<Cluster> clusters;

    void lose(const Block& root, const std::vector<Block>& survivors, std::vector<Step> cycle = {})
    {
        lost.insert(lost.end(), survivors.begin(), survivors.end());
        lost_groups.push_back({root, std::move(cycle), Snapshot::of(survivors)});
    }

    std::string text(analyse::Names& names, std::string_view problem = "")
    {
        TextOptions options;
        options.plumbing = false;
        options.max_groups = 50;
        options.source_root.clear();
        const Snapshot gone;
        return report::explanation_text({Snapshot::of(lost), Snapshot::of(held), gone, problem, lost_groups, clusters},
                                        options, false, names);
    }
};

} // namespace

TEST_CASE("nothing to explain is one line")
{
    InventedNames names;
    CHECK(Found().text(names) == "no survivors to explain\n");
}

TEST_CASE("lost groups that are alike are one paragraph")
{
    InventedNames names;
    Stacks stacks;
    const Frame main = names.call("main", "/src/main.cpp", 9);
    const Stack leaf = stacks.of({names.call("drop()", "/src/drop.cpp", 3), main});
    const Stack tree = stacks.of({names.call("plant(int)", "/src/tree.cpp", 5), main});
    const Stack ring = stacks.of({names.call("Ring::Ring()", "/src/ring.cpp", 7), main});
    const Stack old = stacks.of({names.call("older()", "/src/old.cpp", 11), main});

    Found found;
    for (std::uintptr_t i = 0; i < 3; ++i) {
        found.lose(block_at(0x1000 + i * 64, 40, leaf), {block_at(0x1000 + i * 64, 40, leaf)});
        const Block root = block_at(0x2000 + i * 256, 100, tree);
        found.lose(root, {root, block_at(0x2080 + i * 256, 10, leaf)});
    }
    for (std::uintptr_t i = 0; i < 2; ++i) {
        const Block one = block_at(0x4000 + i * 256, 16, ring);
        const Block other = block_at(0x4080 + i * 256, 16, ring);
        found.lose(one, {one, other}, {{one, 8}, {other, 0}});
    }
    found.lose(block_at(0x6000, 64, old), {block_at(0x6080, 8, leaf)});
    check_golden("lost_alike.txt", found.text(names));
}

TEST_CASE("held blocks come with the way to them and the pointer to cut")
{
    InventedNames names;
    Stacks stacks;
    const Frame main = names.call("main", "/src/main.cpp", 9);
    const Stack add = stacks.of({names.call("Registry::add(Node*)", "/src/registry.cpp", 31), main});
    const Stack open = stacks.of({names.call("open_node()", "/src/node.cpp", 12), main});
    Root global;
    global.kind = Root::Kind::data;
    global.name = "registry";
    global.module = "/bin/app";
    global.offset = 16;
    const Block buffer = block_at(0x1000, 64, add);

    Found found;
    for (std::uintptr_t i = 0; i < 3; ++i) found.held.push_back(block_at(0x2000 + i * 64, 40, open));
    found.clusters.push_back({{global, {{buffer, 8}, {found.held[0], 0}}}, Snapshot::of(found.held), 3});
    const Block alone = block_at(0x3000, 8, open);
    found.held.push_back(alone);
    found.clusters.push_back({{global, {{alone, 0}}}, Snapshot::of({alone}), 1});
    check_golden("held.txt", found.text(names));
}

TEST_CASE("a search that was not whole says so first")
{
    InventedNames names;
    Stacks stacks;
    const Block block = block_at(0x1000, 40, stacks.of({names.call("drop()", "/src/drop.cpp", 3)}));
    Found found;
    found.lose(block, {block});
    CHECK(found.text(names, "thread 12 (worker) did not stop within 1000 ms")
              .find("could not check: thread 12 (worker) did not stop within 1000 ms; "
                    "what is called lost here may be held\n") == 0);
}
