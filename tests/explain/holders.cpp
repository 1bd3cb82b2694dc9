// SPDX-License-Identifier: BSL-1.0
// Questions about single blocks: who points there, can it be reached, what would go with it; roots that the program
// names; pointers with tags.
#include "situations.hpp"

#include <cstdlib>
#include <sys/mman.h>
#include <vector>

using heapmark::Reach;
using heapmark::Root;

namespace {

struct Node {
    Node* left = nullptr;
    Node* right = nullptr;
    char payload[32] = {};
};

Node* top;
Node* second_way;
void* tagged;

/// Shape: top -> a -> shared, top -> b -> shared; b -> only_b. The global second_way leads to nothing yet.
struct Tree {
    Hidden top, a, b, shared, only_b;
};

[[gnu::noinline]] Tree make_tree()
{
    auto* a = new Node;
    auto* b = new Node;
    auto* shared = new Node;
    auto* only_b = new Node;
    top = new Node;
    top->left = a;
    top->right = b;
    a->right = shared;
    b->left = shared;
    b->right = only_b;
    return {Hidden(top), Hidden(a), Hidden(b), Hidden(shared), Hidden(only_b)};
}

const heapmark::Block* find(const heapmark::Snapshot& blocks, const Hidden& hidden)
{
    for (const heapmark::Block& block : blocks)
        if (hidden.is(block.address)) return &block;
    return nullptr;
}

void dominated()
{
    const heapmark::Generation g = heapmark::mark("dominated");
    const Tree tree = make_tree();
    scrub_stack();
    heapmark::ExplainOptions options;
    const heapmark::Explanation unasked = heapmark::explain(heapmark::survivors(g), options);
    EXPECT_EQ(unasked.dominated_bytes(find(unasked.held(), tree.top)->address), 0);
    options.dominated = true;
    {
        const heapmark::Explanation why = heapmark::explain(heapmark::survivors(g), options);
        EXPECT_EQ(why.held().size(), 5);
        const auto bytes = [&](const Hidden& node) {
            return why.dominated_bytes(find(why.held(), node)->address) / sizeof(Node);
        };
        EXPECT_EQ(bytes(tree.top), 5);
        EXPECT_EQ(bytes(tree.a), 1);
        EXPECT_EQ(bytes(tree.b), 2); // the shared one has another way
        EXPECT_EQ(bytes(tree.shared), 1);
        EXPECT_EQ(bytes(tree.only_b), 1);
        EXPECT_EQ(why.dominated_bytes(&top), 0);
    }
    second_way = top->right->right; // now a variable holds it as well
    heapmark::escape(&second_way);
    scrub_stack();
    const heapmark::Explanation after = heapmark::explain(heapmark::survivors(g), options);
    EXPECT_EQ(after.dominated_bytes(find(after.held(), tree.b)->address), sizeof(Node));
    second_way = nullptr;
}

void holders()
{
    const heapmark::Generation g = heapmark::mark("holders");
    const Tree tree = make_tree();
    scrub_stack();
    heapmark::ExplainOptions options;
    options.holders = true;
    const heapmark::Explanation why = heapmark::explain(heapmark::survivors(g), options);
    const std::vector<heapmark::Holder> of_shared = why.holders(find(why.held(), tree.shared)->address);
    EXPECT_EQ(of_shared.size(), 2);
    bool by_a = false;
    bool by_b = false;
    for (const heapmark::Holder& holder : of_shared) {
        by_a = by_a || (tree.a.is(holder.block.address) && holder.offset == offsetof(Node, right));
        by_b = by_b || (tree.b.is(holder.block.address) && holder.offset == offsetof(Node, left));
    }
    EXPECT(by_a && by_b);
    const std::vector<heapmark::Holder> of_top = why.holders(find(why.held(), tree.top)->address);
    EXPECT_EQ(of_top.size(), 1);
    EXPECT(of_top[0].block.address == nullptr);
    EXPECT(of_top[0].root.address == &top);
    EXPECT(of_top[0].root.name.find("top") != std::string_view::npos);

    // By a pointer into the block; the question's own variables count as well.
    bool by_variable = false;
    for (const heapmark::Holder& holder : heapmark::holders(&top->payload[3]))
        by_variable = by_variable || (holder.block.address == nullptr && holder.root.address == &top);
    EXPECT(by_variable);
    int local = 0;
    EXPECT(heapmark::holders(&local).empty());
    EXPECT(heapmark::is_reachable(top));
    EXPECT(!heapmark::is_reachable(&local));
}

[[gnu::noinline]] Hidden store_in(void** place)
{
    *place = std::calloc(1, 90);
    return Hidden(*place);
}

void annotated_roots()
{
    const heapmark::Generation g = heapmark::mark("annotated");
    constexpr std::size_t bytes = 3 * 4096;
    auto* pool = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    const Hidden kept = store_in(reinterpret_cast<void**>(pool + 4096 + 16));
    EXPECT_EQ(reach_of(explain_since(g), kept), Reach::lost);

    EXPECT(heapmark::add_root(pool, pool + bytes, "the pool"));
    {
        const heapmark::Explanation why = explain_since(g);
        EXPECT_EQ(reach_of(why, kept), Reach::held);
        const heapmark::Path path = path_to(why, kept);
        EXPECT_EQ(path.root.kind, Root::Kind::annotated);
        EXPECT(path.root.name == "the pool");
        EXPECT_EQ(path.root.offset, 4096 + 16);
    }
    EXPECT_EQ(mprotect(pool, 4096, PROT_NONE), 0); // is passed by
    EXPECT_EQ(reach_of(explain_since(g), kept), Reach::held);
    EXPECT(!heapmark::remove_root(pool + 8));
    EXPECT(heapmark::remove_root(pool));
    EXPECT(!heapmark::remove_root(pool));
    EXPECT_EQ(reach_of(explain_since(g), kept), Reach::lost);
    munmap(pool, bytes);
    EXPECT(!heapmark::add_root(&tagged, &tagged));
    EXPECT(!heapmark::add_root(nullptr, &tagged));

    // Many, taken back and named again: the slots are used again.
    static char words[1000][8];
    for (int round = 0; round < 3; ++round) {
        for (auto& word : words) EXPECT(heapmark::add_root(word, word + 8));
        for (auto& word : words) EXPECT(heapmark::remove_root(word));
    }
}

/// Memory from mmap is searched when asked for; what is lost stays lost beside it.
void mapped_memory()
{
    const heapmark::Generation g = heapmark::mark("mapped");
    constexpr std::size_t bytes = 64 * 4096;
    auto* pool = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    auto* shared = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    const Hidden in_pool = store_in(reinterpret_cast<void**>(pool + bytes - 8));
    const Hidden in_shared = store_in(reinterpret_cast<void**>(shared + 4096));
    void* big = std::malloc(std::size_t{4} << 20); // a mapping of its own, maybe next to the pool
    heapmark::escape(big);
    void* gone = nullptr;
    const Hidden lost = store_in(&gone);
    gone = nullptr;
    heapmark::escape(&gone);
    std::memset(big, 0, std::size_t{4} << 20);
    scrub_stack();
    EXPECT_EQ(reach_of(explain_since(g), in_pool), Reach::lost);
    heapmark::ExplainOptions options;
    options.mapped_memory = true;
    const heapmark::Explanation why = heapmark::explain(heapmark::survivors(g), options);
    EXPECT(why.complete());
    EXPECT_EQ(reach_of(why, in_pool), Reach::held);
    EXPECT_EQ(reach_of(why, in_shared), Reach::held);
    EXPECT_EQ(reach_of(why, lost), Reach::lost);
    EXPECT_EQ(path_to(why, in_pool).root.kind, Root::Kind::annotated);
    EXPECT(path_to(why, in_pool).root.name == "memory from mmap");
    EXPECT(path_to(why, in_pool).root.address == pool + bytes - 8);
    munmap(pool, bytes);
    munmap(shared, bytes);
    std::free(big);
}

void tagged_pointers()
{
    const heapmark::Generation g = heapmark::mark("tagged");
    const Hidden block = store_in(&tagged);
    tagged = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(tagged) | std::uintptr_t{0xab} << 56);
    EXPECT_EQ(reach_of(explain_since(g), block), Reach::lost);
    heapmark::ExplainOptions options;
    options.pointer_mask = ~(std::uintptr_t{0xffff} << 48);
    scrub_stack();
    const heapmark::Explanation why = heapmark::explain(heapmark::survivors(g), options);
    EXPECT_EQ(reach_of(why, block), Reach::held);
    EXPECT(path_to(why, block).root.address == &tagged);
}

} // namespace

int main()
{
    dominated();
    holders();
    annotated_roots();
    mapped_memory();
    tagged_pointers();
    return verdict();
}
