// SPDX-License-Identifier: BSL-1.0
// The kinds of lost and held blocks: roots of every sort, interior pointers, chains, cycles, and what is no root.
#include "situations.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <new>
#include <pthread.h>
#include <string>
#include <vector>

using heapmark::Reach;
using heapmark::Root;

namespace {

struct Node {
    std::shared_ptr<Node> other;
    char payload[40];
};

// ---------------------------------------------------------------- lost

Hidden lost_alone, lost_root, lost_child, lost_grandchild, cycle_a, cycle_b, hangs_on_cycle, self_cycle;

[[gnu::noinline]] void lose()
{
    auto* alone = std::malloc(100);
    heapmark::escape(alone);
    lost_alone = Hidden(alone);

    auto** root = new void*[4]();
    auto** child = new void*[2]();
    auto** grandchild = new void*[2]();
    root[3] = child;
    child[1] = reinterpret_cast<char*>(grandchild) + 5;
    heapmark::escape(root);
    lost_root = Hidden(root);
    lost_child = Hidden(child);
    lost_grandchild = Hidden(grandchild);

    auto** a = new void*[3]();
    auto** b = new void*[3]();
    auto* hanging = new int(3);
    a[1] = b;
    b[2] = a;
    b[0] = hanging;
    heapmark::escape(a);
    cycle_a = Hidden(a);
    cycle_b = Hidden(b);
    hangs_on_cycle = Hidden(hanging);

    auto** self = new void*[1];
    self[0] = self;
    heapmark::escape(self);
    self_cycle = Hidden(self);
}

void lost_kinds()
{
    const heapmark::Generation g = heapmark::mark("lost");
    lose();
    const heapmark::Explanation why = explain_since(g);
    EXPECT(why.complete());
    EXPECT_EQ(why.lost().size(), 8);
    EXPECT_EQ(why.held().size(), 0);
    EXPECT_EQ(reach_of(why, lost_alone), Reach::lost);
    EXPECT_EQ(reach_of(why, lost_root), Reach::lost);
    EXPECT_EQ(reach_of(why, lost_child), Reach::indirectly_lost);
    EXPECT_EQ(reach_of(why, lost_grandchild), Reach::indirectly_lost);
    EXPECT_EQ(reach_of(why, hangs_on_cycle), Reach::indirectly_lost);
    EXPECT_EQ(reach_of(why, self_cycle), Reach::lost);
    // Of a cycle one block stands for all.
    EXPECT((reach_of(why, cycle_a) == Reach::lost) != (reach_of(why, cycle_b) == Reach::lost));

    EXPECT_EQ(why.lost_groups().size(), 4);
    std::size_t blocks = 0;
    for (const heapmark::LostGroup& group : why.lost_groups()) {
        blocks += group.blocks.size();
        if (lost_root.is(group.root.address)) EXPECT_EQ(group.blocks.size(), 3);
        if (self_cycle.is(group.root.address)) {
            EXPECT_EQ(group.cycle.size(), 1);
            EXPECT_EQ(group.cycle[0].offset, 0);
        }
        if (cycle_a.is(group.root.address) || cycle_b.is(group.root.address)) {
            EXPECT_EQ(group.blocks.size(), 3);
            EXPECT_EQ(group.cycle.size(), 2);
            for (const heapmark::Step& step : group.cycle)
                EXPECT_EQ(step.offset, cycle_a.is(step.block.address) ? 8 : 16);
        }
    }
    EXPECT_EQ(blocks, 8);
}

// ---------------------------------------------------------------- held

void* global_pointer;
void* static_array[3];
thread_local void* thread_pointer;
std::map<int, std::string> registry;
pthread_key_t first_key;
pthread_key_t last_key;

[[gnu::noinline]] Hidden make(void*& place, std::size_t bytes, std::size_t inside)
{
    auto* block = static_cast<char*>(std::malloc(bytes));
    std::memset(block, 0, bytes);
    place = block + inside;
    return Hidden(block);
}

[[gnu::noinline]] Hidden make_for_key(pthread_key_t key)
{
    void* value = nullptr;
    const Hidden hidden = make(value, 24, 0);
    pthread_setspecific(key, value);
    return hidden;
}

Hidden chain_end;

[[gnu::noinline]] void make_chain()
{
    auto** first = new void*[5]();
    auto** second = new void*[2]();
    first[2] = reinterpret_cast<char*>(second) + 3;
    auto* end = new int(1);
    second[1] = end;
    static_array[1] = first;
    chain_end = Hidden(end);
}

void held_kinds()
{
    pthread_key_create(&first_key, nullptr);
    for (int i = 0; i < 60; ++i) pthread_key_create(&last_key, nullptr); // beyond the first block of values
    const heapmark::Generation g = heapmark::mark("held");
    const Hidden by_global = make(global_pointer, 40, 39);
    const Hidden by_thread_local = make(thread_pointer, 50, 0);
    const Hidden by_first_key = make_for_key(first_key);
    const Hidden by_last_key = make_for_key(last_key);
    void* local = nullptr;
    const Hidden by_stack = make(local, 70, 20);
    heapmark::escape(&local);
    make_chain();
    registry.emplace(1, "a name that is too long to be kept in the string itself");

    const heapmark::Explanation why = explain_since(g);
    EXPECT(why.complete());
    EXPECT_EQ(why.lost().size(), 0);
    EXPECT_EQ(why.held().size(), heapmark::survivors(g).size());
    EXPECT_EQ(why.held().size() > 9, true);

    EXPECT_EQ(path_to(why, by_global).root.kind, Root::Kind::data);
    EXPECT(path_to(why, by_global).root.address == &global_pointer);
    EXPECT_EQ(path_to(why, by_thread_local).root.kind, Root::Kind::thread_storage);
    EXPECT(path_to(why, by_thread_local).root.address == &thread_pointer);
    EXPECT_EQ(path_to(why, by_first_key).root.kind, Root::Kind::thread_key);
    EXPECT_EQ(path_to(why, by_last_key).steps.size() >= 1, true);
    EXPECT_EQ(path_to(why, by_stack).root.kind, Root::Kind::stack);
    EXPECT(path_to(why, by_stack).root.address == &local);
    EXPECT_EQ(path_to(why, by_stack).root.thread, heapmark::this_thread());

    const heapmark::Path chain = path_to(why, chain_end);
    EXPECT(chain.root.address == &static_array[1]);
    EXPECT_EQ(chain.steps.size(), 3);
    EXPECT_EQ(chain.steps[0].offset, 16);
    EXPECT_EQ(chain.steps[1].offset, 8);
    EXPECT_EQ(chain.steps[0].block.size, 40);
    EXPECT(chain_end.is(chain.steps[2].block.address));
}

// ---------------------------------------------------------------- neither

/// A block whose only pointer dies with this function.
[[gnu::noinline]] Hidden drop(std::size_t bytes)
{
    void* block = nullptr;
    return make(block, bytes, 0);
}

void no_roots()
{
    const heapmark::Generation g = heapmark::mark("no roots");
    static Hidden hidden[3];
    hidden[0] = drop(33);
    hidden[1] = drop(24);
    hidden[2] = drop(1000);
    scrub_stack();
    // heapmark's own lists of survivors hold nothing, wherever they are kept.
    static const heapmark::Snapshot survivors = heapmark::survivors(g);
    static const heapmark::Explanation first = explain_since(g);
    const heapmark::Explanation second = explain_since(g);
    for (const heapmark::Explanation* why : {&first, &second}) {
        EXPECT_EQ(why->lost().size(), 3);
        for (const Hidden& block : hidden) EXPECT_EQ(reach_of(*why, block), Reach::lost);
    }
    EXPECT_EQ(survivors.size(), 3);
}

void nothing_and_gone()
{
    const heapmark::Explanation nothing = heapmark::explain(heapmark::Snapshot());
    EXPECT(nothing.complete());
    EXPECT(nothing.lost().empty() && nothing.held().empty() && nothing.gone().empty());
    EXPECT(nothing.problem().empty());
    EXPECT(nothing.path(&global_pointer).steps.empty());

    const heapmark::Generation g = heapmark::mark("gone");
    void* first = std::malloc(64);
    heapmark::escape(first);
    const heapmark::Snapshot before = heapmark::survivors(g);
    std::free(first);
    const heapmark::Explanation why = heapmark::explain(before);
    EXPECT_EQ(why.gone().size(), 1);
    EXPECT_EQ(why.lost().size() + why.held().size(), 0);
    EXPECT_EQ(why.reach(before[0].address), Reach::gone);
}

void values()
{
    const heapmark::Generation g = heapmark::mark("values");
    static_cast<void>(drop(48));
    heapmark::Explanation why = explain_since(g);
    heapmark::Explanation copy = why;
    heapmark::Explanation moved = std::move(why);
    EXPECT_EQ(copy.lost().size(), 1);
    EXPECT_EQ(moved.lost().size(), 1);
    copy = moved;
    EXPECT_EQ(copy.lost_groups().size(), 1);
    EXPECT_EQ(heapmark::survivors(g).size(), 1); // what explaining needs for itself is no survivor
}

} // namespace

int main()
{
    lost_kinds();
    held_kinds();
    no_roots();
    nothing_and_gone();
    values();
    return verdict();
}
