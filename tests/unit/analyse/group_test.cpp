// SPDX-License-Identifier: BSL-1.0
#include "analyse/group.hpp"
#include "analyse/immortal_text.hpp"
#include "invented_names.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace heapmark;
using namespace heapmark::test;

namespace {

/// "label: blocks, bytes; ..." in the order of the groups.
std::string rows(const Snapshot& snapshot, GroupKey key, analyse::Names& names)
{
    std::string list;
    for (const Group& group : analyse::group(snapshot, key, names))
        list += std::string(group.label()) + ": " + std::to_string(group.size()) + ", " +
                std::to_string(group.bytes()) + "; ";
    return list;
}

} // namespace

TEST_CASE("the call site is the first call that is not plumbing, inlined ones included")
{
    InventedNames names;
    Stacks stacks;
    const Frame allocate = names.plumbing("operator new(unsigned long)", "/lib/libstdc++.so.6");
    const Frame inlined = names.calls({{"std::allocate", "std::allocate", "new_allocator.h", 7, false, true},
                                       {"add(int)", "add(int)", "/src/list.cpp", 12, false, false},
                                       {"push(int)", "push(int)", "/src/list.cpp", 30, false, false}});
    const Frame main = names.call("main", "/src/main.cpp", 9);

    const Stack stack = stacks.of({allocate, inlined, main});
    const analyse::CallSite site = analyse::call_site(stack, names);
    CHECK(site.frame_index == 1);
    CHECK(site.call->function == "add(int)");
    CHECK(analyse::call_site_label(stack, names) == "add(int) at list.cpp:12");

    CHECK(analyse::call_site(stacks.of({allocate}), names).call->function == "operator new(unsigned long)");
    CHECK(analyse::call_site(Stack{}, names).call == nullptr);
}

TEST_CASE("labels say what is known of the call site")
{
    InventedNames names;
    Stacks stacks;
    const auto label = [&](Frame frame) { return analyse::call_site_label(stacks.of({frame}), names); };
    CHECK(label(names.call("f()", "/a/b.cpp", 3)) == "f() at b.cpp:3");
    CHECK(label(names.call("xmlNewDoc", {}, 0, "/usr/lib/libxml2.so.2")) == "xmlNewDoc in libxml2.so.2");
    CHECK(label(names.call("", {}, 0, "/usr/lib/libxml2.so.2")) == "libxml2.so.2+0x101f");
    CHECK(label(names.call("", {}, 0, "[vdso]")) == "[vdso]+0x102f");
    CHECK(label(names.call("")) == "0x103f");
    CHECK(analyse::call_site_label(Stack{}, names) == "(no stack)");
}

TEST_CASE("blocks are grouped by each key, largest first, every block once")
{
    InventedNames names;
    Stacks stacks;
    names.generations[Generation{2}] = "load";
    const Frame f = names.call("f()", "/src/f.cpp", 3, "/bin/program");
    const Frame g = names.call("g()", {}, 0, "/usr/lib/libg.so.1");
    const Frame main = names.call("main", "/src/main.cpp", 9, "/bin/program");
    const Frame other = names.call("main", "/src/main.cpp", 10, "/bin/program");
    std::vector<Block> blocks{block_at(0x100, 10, stacks.of({f, main}), 1),
                              block_at(0x200, 20, stacks.of({f, other}), 2),
                              block_at(0x300, 5, stacks.of({g, main}), 2), block_at(0x400, 5, stacks.of({g, main}), 2),
                              block_at(0x500, 10, {}, 3)};
    blocks[1].thread = ThreadId{2};
    blocks[4].thread = ThreadId{};
    blocks[2].tag = "parser";
    names.types[blocks[0].address] = "Node";
    const Snapshot snapshot = Snapshot::of(blocks);

    CHECK(rows(snapshot, by_call_site, names) == "f() at f.cpp:3: 2, 30; g() in libg.so.1: 2, 10; (no stack): 1, 10; ");
    CHECK(rows(snapshot, by_stack, names) == "f() at f.cpp:3 < main: 1, 20; g() in libg.so.1 < main: 2, 10; "
                                             "(no stack): 1, 10; f() at f.cpp:3 < main: 1, 10; ");
    CHECK(rows(snapshot, by_module, names) == "program: 2, 30; libg.so.1: 2, 10; (no module): 1, 10; ");
    CHECK(rows(snapshot, by_thread, names) == "thread 1: 3, 20; thread 2: 1, 20; (unknown thread): 1, 10; ");
    CHECK(rows(snapshot, by_generation, names) ==
          "generation 2 \"load\": 3, 30; generation 1: 1, 10; generation 3: 1, 10; ");
    CHECK(rows(snapshot, by_type, names) == "(unknown type): 4, 40; Node: 1, 10; ");
    CHECK(rows(snapshot, by_tag, names) == "(no tag): 4, 45; parser: 1, 5; ");
    CHECK(analyse::group(Snapshot{}, by_stack, names).empty());
}

TEST_CASE("labels outlive their groups")
{
    InventedNames names;
    std::string_view label;
    {
        const auto groups = analyse::group(Snapshot::of({block_at(0x100, 1)}), by_generation, names);
        label = groups.front().label();
    }
    CHECK(label == "generation 1");
    CHECK(analyse::intern_label("generation 1").data() == label.data());
}

TEST_CASE("splitting by stack asks for no names")
{
    InventedNames names;
    Stacks stacks;
    const Frame f = names.call("f()");
    const auto parts = analyse::split_by_stack(
        Snapshot::of({block_at(0x100, 1, stacks.of({f})), block_at(0x200, 2, stacks.of({f})), block_at(0x300, 9)}));
    REQUIRE(parts.size() == 2);
    CHECK(parts[0].bytes() == 9);
    CHECK(parts[1].size() == 2);
    CHECK(names.asked == 0);
}

TEST_CASE("interned text of any size keeps its content")
{
    static analyse::ImmortalText& texts = *new analyse::ImmortalText;
    std::vector<std::string> wanted;
    std::vector<std::string_view> kept;
    for (std::size_t i = 0; i < 3000; ++i) {
        wanted.push_back(std::to_string(i) + std::string(i % 97 == 0 ? 9000 : i % 50, 'x'));
        kept.push_back(texts.keep(wanted.back()));
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        REQUIRE(kept[i] == wanted[i]);
        REQUIRE(texts.keep(wanted[i]).data() == kept[i].data());
    }
}
