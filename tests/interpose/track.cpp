// SPDX-License-Identifier: BSL-1.0
// Tracked resources and references: by name, with stacks, and apart from blocks.
#include <heapmark/track.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#if __has_include(<memory_resource>)
#include <heapmark/pmr.hpp>
#endif

using heapmark::Api;
using heapmark::Generation;
using heapmark::handle;

namespace {

struct Buffer {};
Buffer buffers[100];

[[gnu::noinline]] bool open_buffer(const Buffer& buffer, std::size_t bytes)
{
    const bool tracked = heapmark::track(&buffer, bytes, "buffer");
    asm volatile("" : : : "memory"); // not a tail call
    return tracked;
}

[[gnu::noinline]] bool share_buffer(const Buffer& buffer, const void* holder)
{
    const bool retained = heapmark::retain(&buffer, "buffer", holder);
    asm volatile("" : : : "memory");
    return retained;
}

} // namespace

TEST_CASE("a resource is listed from track to untrack")
{
    const Generation since = heapmark::mark("open");
    REQUIRE(open_buffer(buffers[0], 1000));
    CHECK_FALSE(open_buffer(buffers[0], 2000)); // exists
    CHECK(heapmark::track(&buffers[0], 7, "another kind"));
    const Generation later = heapmark::mark();
    CHECK(heapmark::track(handle(3), 0, "file"));

    const heapmark::Snapshot all = heapmark::tracked(since);
    REQUIRE(all.size() == 3);
    CHECK(all.bytes() == 1007);
    CHECK(heapmark::tracked(later).size() == 1);
    CHECK(heapmark::tracked(since, since).size() == 2);
    const heapmark::Snapshot opened = all.filter(heapmark::in_function("open_buffer"));
    REQUIRE(opened.size() == 1);
    CHECK(opened[0].address == &buffers[0]);
    CHECK(opened[0].size == 1000);
    CHECK(opened[0].tag == "buffer");
    CHECK(opened[0].api == Api::track);
    CHECK(opened[0].generation == since);
    CHECK(opened[0].age.generations == 1);
    CHECK(opened[0].thread == heapmark::this_thread());
    CHECK(all.group_by(heapmark::by_tag).size() == 3);

    CHECK(heapmark::resize(&buffers[0], 500, "buffer"));
    CHECK(heapmark::tracked(since, since).bytes() == 507);
    CHECK(heapmark::untrack(&buffers[0], "buffer"));
    CHECK_FALSE(heapmark::untrack(&buffers[0], "buffer"));
    CHECK_FALSE(heapmark::resize(&buffers[0], 1, "buffer"));
    CHECK(heapmark::untrack(&buffers[0], "another kind"));
    CHECK(heapmark::untrack(handle(3), "file"));
    CHECK(heapmark::tracked(since).empty());
}

TEST_CASE("predicates outlive the text that they were made from")
{
    open_buffer(buffers[5], 1);
    std::string name = "open_buffer";
    const heapmark::in_function opened(name.c_str());
    name.assign("another one");
    const heapmark::Snapshot all = heapmark::tracked();
    CHECK(all.filter(opened).size() == 1);
    CHECK(all.filter(heapmark::in_function("another one")).empty());
    CHECK(all.filter(heapmark::in_module(nullptr)).empty());
    heapmark::untrack(&buffers[5], "buffer");
}

TEST_CASE("tracking leaves nothing among the survivors")
{
    open_buffer(buffers[1], 1);
    const Generation since = heapmark::mark();
    open_buffer(buffers[2], 1);
    share_buffer(buffers[2], nullptr);
    CHECK(heapmark::survivors(since).empty());
    heapmark::untrack(&buffers[1], "buffer");
    heapmark::untrack(&buffers[2], "buffer");
}

TEST_CASE("the retain that was never released is named")
{
    const Generation since = heapmark::mark();
    int one = 0;
    int other = 0;
    CHECK_FALSE(share_buffer(buffers[3], &one)); // not tracked
    REQUIRE(open_buffer(buffers[3], 10));
    CHECK(share_buffer(buffers[3], &one));
    CHECK(heapmark::retain(&buffers[3], "buffer", &other));
    CHECK(share_buffer(buffers[3], &one));
    CHECK(heapmark::references(since).size() == 3);

    CHECK(heapmark::release(&buffers[3], "buffer", &other));
    CHECK_FALSE(heapmark::release(&buffers[3], "buffer", &other));
    CHECK_FALSE(heapmark::release(&buffers[3], "buffer"));
    CHECK(heapmark::release(&buffers[3], "buffer", &one));
    const heapmark::Snapshot left = heapmark::references(since);
    REQUIRE(left.size() == 1);
    CHECK(left[0].address == &buffers[3]);
    CHECK(left[0].api == Api::retain);
    CHECK(left[0].size == 0);
    CHECK(heapmark::in_function("share_buffer")(left[0]));
    CHECK(heapmark::untrack(&buffers[3], "buffer"));
    CHECK(heapmark::references(since).empty());
}

TEST_CASE("many resources of several threads, and a fork in between")
{
    const Generation since = heapmark::mark();
    std::vector<std::thread> threads;
    for (std::uintptr_t number = 0; number < 4; ++number)
        threads.emplace_back([number] {
            for (std::uintptr_t i = 0; i < 2000; ++i) {
                heapmark::track(handle(number * 2000 + i), i, "number");
                heapmark::retain(handle(number * 2000 + i), "number");
                if (i % 2 == 0) heapmark::untrack(handle(number * 2000 + i), "number");
            }
        });
    for (int i = 0; i < 20; ++i) {
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            alarm(20);
            const bool right = heapmark::track(handle(1), 1, "child") && heapmark::untrack(handle(1), "child");
            _exit(right && heapmark::tracked().size() <= 8000 ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(status == 0);
    }
    for (std::thread& thread : threads) thread.join();
    const heapmark::Snapshot left = heapmark::tracked(since);
    CHECK(left.size() == 4000);
    CHECK(left.bytes() == 4 * 1000 * 1000);
    CHECK(heapmark::references(since).size() == 4000);
    std::set<const void*> ids;
    for (const heapmark::Block& block : left) ids.insert(block.address);
    CHECK(ids.size() == 4000);
    for (const void* id : ids) CHECK(heapmark::untrack(id, "number"));
}

TEST_CASE("outermost: by address and size, in any order; what has no size is never inside")
{
    const auto block = [](std::uintptr_t address, std::size_t size) {
        heapmark::Block made;
        made.address = const_cast<void*>(handle(address));
        made.size = size;
        return made;
    };
    const heapmark::Snapshot all =
        heapmark::Snapshot::of({block(1000, 10), block(1000, 100), block(1020, 80), block(1050, 0), block(1090, 20),
                                block(1110, 5), block(3, 0), block(1095, 15)});
    const heapmark::Snapshot outer = heapmark::outermost(all);
    std::vector<std::pair<std::uintptr_t, std::size_t>> left;
    for (const heapmark::Block& each : outer)
        left.emplace_back(reinterpret_cast<std::uintptr_t>(each.address), each.size);
    CHECK(left ==
          std::vector<std::pair<std::uintptr_t, std::size_t>>{{3, 0}, {1000, 100}, {1050, 0}, {1090, 20}, {1110, 5}});
    CHECK(outer.bytes() == 125);
    CHECK(heapmark::outermost({}).empty());
}

#ifdef HEAPMARK_PMR_HPP
TEST_CASE("pieces of a pool")
{
    const Generation since = heapmark::mark();
    std::pmr::monotonic_buffer_resource arena(10'000);
    heapmark::pmr::resource watched(&arena, "arena");
    {
        std::pmr::vector<int> numbers(100, 7, &watched);
        const heapmark::Snapshot pieces = heapmark::tracked(since);
        REQUIRE(pieces.size() == 1);
        CHECK(pieces[0].address == numbers.data());
        CHECK(pieces.bytes() == 100 * sizeof(int));
        CHECK(pieces[0].tag == "arena");
    }
    CHECK(heapmark::tracked(since).empty());
    CHECK(heapmark::survivors(since).size() == 1); // the arena keeps its buffer
    void* kept = watched.allocate(24, 8);
    CHECK(heapmark::tracked(since).size() == 1);
    watched.deallocate(kept, 24, 8);
}

TEST_CASE("pools in pools are counted once")
{
    const Generation since = heapmark::mark();
    {
        heapmark::pmr::resource lower(std::pmr::new_delete_resource(), "buffers");
        std::pmr::monotonic_buffer_resource arena(10'000, &lower);
        heapmark::pmr::resource pieces(&arena, "pieces");
        std::pmr::unsynchronized_pool_resource pool(&pieces);
        heapmark::pmr::resource items(&pool, "items");
        const std::pmr::vector<int> numbers(100, 7, &items);
        const std::pmr::vector<int> more(50, 7, &items);

        const heapmark::Snapshot all = heapmark::tracked(since);
        const auto of_kind = [&all](const char* kind) {
            return all.filter([kind](const heapmark::Block& block) { return block.tag == kind; });
        };
        CHECK(of_kind("items").bytes() == 150 * sizeof(int));
        CHECK(of_kind("pieces").bytes() >= of_kind("items").bytes());
        CHECK(all.bytes() > of_kind("buffers").bytes());
        const heapmark::Snapshot outer = heapmark::outermost(all);
        CHECK(outer.size() == of_kind("buffers").size());
        CHECK(outer.bytes() == of_kind("buffers").bytes());
        CHECK(heapmark::outermost(of_kind("items")).size() == 2);
    }
    CHECK(heapmark::tracked(since).empty());
}
#endif
