// SPDX-License-Identifier: BSL-1.0
// The API over real blocks and threads: scopes, ranges, ignored and forgotten blocks, tags, whose blocks they are.
#include <heapmark/heapmark.h>
#include <heapmark/heapmark.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <pthread.h>
#include <string>
#include <thread>
#include <vector>

using heapmark::Generation;
using heapmark::Ignored;

namespace {

struct Free {
    void operator()(void* block) const noexcept { std::free(block); }
};
using Bytes = std::unique_ptr<void, Free>;

Bytes bytes(std::size_t size)
{
    void* block = std::malloc(size);
    heapmark::escape(block);
    return Bytes(block);
}

bool lists(const heapmark::Snapshot& snapshot, const Bytes& block)
{
    for (const heapmark::Block& listed : snapshot)
        if (listed.address == block.get()) return true;
    return false;
}

/// Starts a thread without the C++ library's own state, which would be a survivor while the thread runs.
template <class Function>
void in_thread(Function function)
{
    pthread_t thread;
    const auto start = [](void* argument) -> void* {
        (*static_cast<Function*>(argument))();
        return nullptr;
    };
    REQUIRE(pthread_create(&thread, nullptr, start, &function) == 0);
    pthread_join(thread, nullptr);
}

} // namespace

TEST_CASE("heapmark is in force, in every respect")
{
    CHECK(heapmark::active());
    const heapmark::Status now = heapmark::status();
    CHECK(now.malloc_recorded);
    CHECK(now.new_recorded);
    CHECK(now.stacks);
    CHECK(now.unrecorded == 0);
    CHECK(now.unstacked == 0);
    CHECK(std::string_view(now.problem).empty());
}

TEST_CASE("scopes nest and overlap")
{
    const heapmark::Scope outer("outer");
    const Bytes first = bytes(10);
    const heapmark::Scope inner("inner");
    const Bytes second = bytes(20);
    auto third_scope = std::make_unique<heapmark::Scope>();
    const Bytes third = bytes(30);
    CHECK(outer.first() < inner.first());
    CHECK(inner.first() < third_scope->first());
    const heapmark::Counts outer_counts = outer.counts(); // and the third scope itself
    CHECK(outer_counts.bytes == 60 + sizeof(heapmark::Scope));
    CHECK(inner.counts().blocks == 3);
    CHECK(third_scope->counts() == heapmark::Counts{1, 30});
    third_scope.reset();
    CHECK(outer.counts() == heapmark::Counts{3, 60});
    CHECK(inner.counts() == heapmark::Counts{2, 50});
    CHECK(outer.survivors().size() == 3);
    CHECK(inner.survivors().bytes() == 50);
    CHECK(heapmark::generation_name(outer.first()) == "outer");
    CHECK(heapmark::generation_name(inner.first()) == "inner");
}

TEST_CASE("ranges of generations are closed")
{
    const Generation first = heapmark::mark();
    const Bytes one = bytes(1);
    const Generation second = heapmark::mark();
    const Bytes two = bytes(2);
    const Generation third = heapmark::mark();
    const Bytes three = bytes(4);
    CHECK(heapmark::current_generation() == third);
    CHECK(heapmark::survivors(first, first).bytes() == 1);
    CHECK(heapmark::survivors(second, second).bytes() == 2);
    CHECK(heapmark::survivors(first, second).bytes() == 3);
    CHECK(heapmark::survivors(second, third).bytes() == 6);
    CHECK(heapmark::survivors(first).bytes() == 7);
    CHECK(heapmark::survivors(third, first).empty());
    CHECK(heapmark::counts(first) == heapmark::Counts{3, 7});
    CHECK(heapmark::counts(second) == heapmark::Counts{2, 6});
    CHECK(heapmark::counts(third) == heapmark::Counts{1, 4});
    const heapmark::Snapshot snapshot = heapmark::survivors(first);
    for (const heapmark::Block& block : snapshot)
        CHECK(block.age.generations ==
              static_cast<std::uint64_t>(third) - static_cast<std::uint64_t>(block.generation));
    CHECK(heapmark::live().size() >= 3);
}

TEST_CASE("allocations: how many, how much, and the most at once")
{
    const Bytes old = bytes(1000);
    const Generation first = heapmark::mark();
    Bytes left = bytes(10);
    for (int i = 0; i < 100; ++i) bytes(300);
    const heapmark::Allocations of_first = heapmark::allocations(first);
    {
        const heapmark::ignore unseen;
        bytes(100'000);
    }
    const heapmark::Allocations still = heapmark::allocations(first);
    CHECK(of_first.blocks == 101);
    CHECK(of_first.bytes == 30'010);
    CHECK(of_first.peak_bytes == 310);
    CHECK(still.bytes == 30'010);

    // doctest allocates, so all is asked before anything is checked.
    const Generation third = heapmark::mark();
    const Bytes before = bytes(5);
    const Generation fourth = heapmark::mark();
    left.reset(std::realloc(left.release(), 500)); // a death and a birth
    const Bytes also = bytes(40);
    left.reset();
    const heapmark::Allocations of_third = heapmark::allocations(third);
    const heapmark::Allocations of_third_alone = heapmark::allocations(third, third);
    const heapmark::Allocations of_fourth = heapmark::allocations(fourth);
    const heapmark::Allocations of_nothing = heapmark::allocations(heapmark::mark());
    CHECK(of_third.blocks == 3);
    CHECK(of_third.bytes == 545);
    CHECK(of_third.peak_bytes == 5 - 10 + 540);
    CHECK(of_third_alone.bytes == 5);
    CHECK(of_third_alone.peak_bytes == 5);
    CHECK(of_fourth.blocks == 2);
    CHECK(of_fourth.peak_bytes == 540); // the thread begins when the block of before has died
    CHECK(of_nothing.blocks == 0);
    CHECK(of_nothing.peak_bytes == 0);
}

TEST_CASE("allocations agree with a model")
{
    std::uint64_t state = 17;
    const auto random = [&state](std::size_t below) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::size_t>(state >> 33) % below;
    };
    constexpr std::size_t slots = 50;
    static Bytes held[slots];
    static std::size_t sizes[slots];
    std::uint64_t blocks = 0;
    std::uint64_t requested = 0;
    std::int64_t balance = 0;
    std::int64_t most = 0;
    const Generation first = heapmark::mark();
    for (int step = 0; step < 20'000; ++step) {
        const std::size_t slot = random(slots);
        if (random(100) == 0) heapmark::mark();
        if (held[slot] == nullptr) {
            sizes[slot] = 1 + random(3000);
            held[slot] = bytes(sizes[slot]);
            ++blocks;
            requested += sizes[slot];
            balance += static_cast<std::int64_t>(sizes[slot]);
            most = std::max(most, balance);
        } else {
            held[slot].reset();
            balance -= static_cast<std::int64_t>(sizes[slot]);
        }
    }
    for (Bytes& block : held) block.reset();
    const heapmark::Allocations seen = heapmark::allocations(first);
    CHECK(seen.blocks == blocks);
    CHECK(seen.bytes == requested);
    CHECK(seen.peak_bytes == static_cast<std::uint64_t>(most));
}

TEST_CASE("allocations of this thread and its children alone")
{
    const Generation first = heapmark::mark();
    std::atomic<bool> stop{false};
    pthread_t background;
    REQUIRE(pthread_create(
                &background, nullptr,
                [](void* flag) -> void* {
                    while (!*static_cast<std::atomic<bool>*>(flag)) bytes(7);
                    return nullptr;
                },
                &stop) == 0);
    const Generation since = heapmark::mark();
    in_thread([] {
        bytes(200);
        in_thread([] { bytes(1000); });
    });
    bytes(30);
    const heapmark::Allocations own = heapmark::allocations(since, heapmark::Threads::this_one_and_its_children);
    const heapmark::Allocations with_older = heapmark::allocations(first, heapmark::Threads::this_one_and_its_children);
    stop = true;
    pthread_join(background, nullptr);
    CHECK(own.blocks == 3);
    CHECK(own.bytes == 1230);
    CHECK(own.peak_bytes == 1230);
    CHECK(with_older.blocks >= own.blocks); // the background thread was started since then
}

TEST_CASE("allocated lists what has died, too")
{
    const Generation since = heapmark::mark();
    const Bytes alive = bytes(77);
    Bytes dead = bytes(1000);
    const void* const gone = dead.get();
    dead.reset();
    const heapmark::Snapshot all = heapmark::allocated(since, heapmark::current_generation());
    REQUIRE(all.size() == 2);
    CHECK(lists(all, alive));
    CHECK((all[0].address == gone || all[1].address == gone));
    CHECK(all.bytes() == 1077);
    CHECK(all[0].stack.size() > 1);
    CHECK(heapmark::survivors(since).size() == 1);
}

TEST_CASE("snapshots, copies and groups are no survivors")
{
    const Bytes before = bytes(5);
    const Generation since = heapmark::mark();
    {
        const Bytes block = bytes(3);
        const heapmark::Snapshot first = heapmark::survivors(since);
        const heapmark::Snapshot copy = first;
        const heapmark::Snapshot live = heapmark::live();
        const heapmark::Snapshot filtered = live.filter([](const heapmark::Block&) { return true; });
        CHECK(filtered.size() == live.size());
        CHECK(heapmark::counts(since) == heapmark::Counts{1, 3});
        CHECK(heapmark::survivors(since).size() == 1);
    }
    CHECK(heapmark::counts(since) == heapmark::Counts{});
}

TEST_CASE("ignored blocks are tracked, and left out")
{
    const Generation since = heapmark::mark();
    Bytes ignored;
    Bytes nested;
    {
        const heapmark::ignore outer;
        ignored = bytes(100);
        {
            const heapmark::ignore inner;
            nested = bytes(200);
        }
        ignored = bytes(101); // still ignored
    }
    const Bytes seen = bytes(7);
    CHECK(heapmark::survivors(since).bytes() == 7);
    CHECK(heapmark::counts(since) == heapmark::Counts{1, 7});
    const heapmark::Snapshot all = heapmark::survivors(since, Ignored::include);
    CHECK(all.bytes() == 308);
    for (const heapmark::Block& block : all) CHECK(block.ignored == (block.address != seen.get()));
    ignored.reset();
    nested.reset();
    CHECK(heapmark::counts(since) == heapmark::Counts{1, 7});
}

TEST_CASE("threads that are started inside an ignore scope are ignored, and theirs; others are not")
{
    const Generation since = heapmark::mark();
    Bytes by_child;
    Bytes by_grandchild;
    {
        const heapmark::ignore here;
        in_thread([&] {
            by_child = bytes(10);
            in_thread([&] { by_grandchild = bytes(20); });
        });
    }
    CHECK(heapmark::survivors(since).empty());
    CHECK(heapmark::survivors(since, Ignored::include).bytes() == 30);
    in_thread([&] { by_child = bytes(11); });
    CHECK(heapmark::survivors(since).bytes() == 11);
}

TEST_CASE("forgotten blocks live on without being survivors")
{
    const Generation since = heapmark::mark();
    Bytes kept = bytes(50);
    const Bytes seen = bytes(60);
    CHECK(heapmark::forget(kept.get()));
    CHECK(heapmark::forget(kept.get()));
    CHECK_FALSE(heapmark::forget(static_cast<char*>(kept.get()) + 1));
    CHECK_FALSE(heapmark::forget(&since));
    CHECK_FALSE(heapmark::forget(nullptr));
    CHECK(heapmark::counts(since) == heapmark::Counts{1, 60});
    CHECK(heapmark::survivors(since).size() == 1);
    CHECK(heapmark::survivors(since, Ignored::include).size() == 2);
    kept.reset();
    CHECK(heapmark::counts(since) == heapmark::Counts{1, 60});
}

TEST_CASE("tags nest, and group")
{
    const Generation since = heapmark::mark();
    std::vector<Bytes> kept;
    kept.reserve(8);
    {
        const heapmark::tag_scope parser("parser");
        kept.push_back(bytes(1));
        {
            const heapmark::tag_scope lexer("lexer");
            kept.push_back(bytes(10));
        }
        kept.push_back(bytes(2));
        in_thread([&] { kept.push_back(bytes(100)); }); // a tag is this thread's alone
    }
    kept.push_back(bytes(200));
    std::uint64_t parser = 0;
    std::uint64_t lexer = 0;
    std::uint64_t untagged = 0;
    const heapmark::Snapshot alive =
        heapmark::survivors(since).filter([&](const heapmark::Block& block) { return block.address != kept.data(); });
    for (const heapmark::Block& block : alive)
        (block.tag == "parser" ? parser : block.tag == "lexer" ? lexer : untagged) += block.size;
    CHECK(parser == 3);
    CHECK(lexer == 10);
    CHECK(untagged == 300);
    const auto groups = alive.group_by(heapmark::by_tag);
    REQUIRE(groups.size() == 3);
    CHECK(groups[0].label() == "(no tag)");
    CHECK(groups[0].bytes() == 300);
    CHECK(groups[1].label() == "lexer");
    CHECK(groups[2].label() == "parser");
}

TEST_CASE("whose blocks: this thread's, its children's, not those of threads in the background")
{
    std::atomic<int> step{0};
    Bytes by_background;
    std::thread background([&] {
        while (step.load() == 0) std::this_thread::yield();
        by_background = bytes(1000);
        step = 2;
    });
    const Generation since = heapmark::mark();
    Bytes by_child;
    Bytes by_grandchild;
    const Bytes own = bytes(1);
    in_thread([&] {
        by_child = bytes(10);
        in_thread([&] { by_grandchild = bytes(100); });
    });
    step = 1;
    while (step.load() != 2) std::this_thread::yield();
    const heapmark::Snapshot all = heapmark::survivors(since);
    CHECK(all.bytes() == 1111);
    CHECK(all.filter(heapmark::on_thread(heapmark::this_thread())).bytes() == 1);
    // The background thread is a child as well, but an older one.
    CHECK(all.filter(heapmark::by_this_thread_and_its_children()).bytes() == 1111);
    CHECK(all.filter(heapmark::by_this_thread_and_its_children(since)).bytes() == 111);
    in_thread([&] { CHECK(all.filter(heapmark::by_this_thread_and_its_children()).empty()); });
    background.join();
    CHECK(lists(all, by_child));
}

TEST_CASE("a thread belongs to the generation it was started in, however late it begins to run")
{
    int wrong = 0;
    for (int i = 0; i < 300; ++i) {
        Bytes block;
        std::thread early([&] { block = bytes(10); });
        const Generation since = heapmark::mark();
        early.join();
        const heapmark::Snapshot all = heapmark::survivors(Generation{}).filter([&](const heapmark::Block& one) {
            return one.address == block.get();
        });
        CHECK(all.size() == 1);
        if (!all.filter(heapmark::by_this_thread_and_its_children(since)).empty()) ++wrong;
    }
    CHECK(wrong == 0);
}

TEST_CASE("marks of several threads are totally ordered, and later blocks belong to later marks")
{
    constexpr std::size_t each = 200;
    std::vector<Generation> marks[4];
    std::vector<std::thread> threads;
    for (auto& list : marks)
        threads.emplace_back([&list] {
            for (std::size_t i = 0; i < each; ++i) {
                list.push_back(heapmark::mark());
                const Bytes block = bytes(8);
                const heapmark::Snapshot later = heapmark::survivors(list.back());
                CHECK(lists(later, block));
            }
        });
    for (std::thread& thread : threads) thread.join();
    std::vector<Generation> all;
    for (auto& list : marks) {
        for (std::size_t i = 1; i < each; ++i) CHECK(list[i - 1] < list[i]);
        all.insert(all.end(), list.begin(), list.end());
    }
    std::sort(all.begin(), all.end());
    for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i - 1] < all[i]);
}

TEST_CASE("the C API tells the same")
{
    CHECK(heapmark_active() == 1);
    const heapmark_generation since = heapmark_mark("from C");
    const Bytes block = bytes(77);
    CHECK(heapmark_counts(since).blocks == 1);
    CHECK(heapmark_counts(since).bytes == 77);
    CHECK(heapmark::generation_name(Generation{since}) == "from C");
    char text[4096] = {};
    std::FILE* out = fmemopen(text, sizeof text - 1, "w");
    CHECK(heapmark_print(since, out) == 0);
    std::fclose(out);
    CHECK(std::string_view(text).find("77") != std::string_view::npos);
    CHECK(heapmark_forget(block.get()) == 1);
    CHECK(heapmark_forget(text) == 0);
    CHECK(heapmark_counts(since).blocks == 0);
}
