// SPDX-License-Identifier: BSL-1.0
// The generation clock, contexts, who started whom, and texts, under collision.
#include "invented.hpp"
#include "record/depot.hpp"
#include "record/generations.hpp"
#include "record/texts.hpp"

#include "platform/monotonic_clock.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

using namespace heapmark::record;

namespace {

constexpr int collider_count = 8;

/// Runs the function in eight threads that begin together.
template <class Function>
void collide(Function function)
{
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int number = 0; number < collider_count; ++number)
        threads.emplace_back([&, number] {
            ++ready;
            while (ready.load() < collider_count) {}
            function(number);
        });
    for (std::thread& thread : threads) thread.join();
}

} // namespace

TEST_CASE("marks of several threads are totally ordered")
{
    constexpr int each = 5000;
    const std::uint32_t before = heapmark::record::clock.generation();
    std::vector<std::uint32_t> drawn[collider_count];
    collide([&](int number) {
        for (int i = 0; i < each; ++i) drawn[number].push_back(heapmark::record::clock.advance());
    });
    std::vector<std::uint32_t> all;
    for (const auto& list : drawn) {
        CHECK(std::is_sorted(list.begin(), list.end()));
        all.insert(all.end(), list.begin(), list.end());
    }
    std::sort(all.begin(), all.end());
    CHECK(all.front() == before + 1);
    CHECK(all.back() == before + collider_count * each);
    CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
    CHECK(heapmark::record::clock.generation() == all.back());
}

TEST_CASE("context ids never decrease with their generation, and first_context finds the border")
{
    const std::uint32_t first_id = heapmark::record::clock.end_context();
    const std::uint32_t first_generation = heapmark::record::clock.generation();
    collide([&](int number) {
        for (int i = 0; i < 2000; ++i) {
            if (i % 3 == 0) heapmark::record::clock.advance();
            Context* context = heapmark::record::clock.take_context(static_cast<std::uint32_t>(number) + 1, 0);
            REQUIRE(context != nullptr);
            CHECK(heapmark::record::clock.context(context->id) == context);
        }
    });
    const std::uint32_t end = heapmark::record::clock.end_context();
    CHECK(end == first_id + collider_count * 2000);
    std::uint32_t previous = first_generation;
    for (std::uint32_t id = first_id; id < end; ++id) {
        const std::uint32_t generation = heapmark::record::clock.context(id)->generation_plus_one.load() - 1;
        if (generation < previous) FAIL("context ", id, " is older than the one before it");
        previous = generation;
    }
    for (std::uint32_t generation = first_generation; generation <= heapmark::record::clock.generation();
         generation += 7) {
        std::uint32_t expected = first_id; // by plain search
        while (expected < end && heapmark::record::clock.context(expected)->generation_plus_one.load() - 1 < generation)
            ++expected;
        if (generation > first_generation) CHECK(heapmark::record::clock.first_context(generation) == expected);
    }
    CHECK(heapmark::record::clock.first_context(heapmark::record::clock.generation() + 1) == end);
}

TEST_CASE("names and times of generations")
{
    const std::uint32_t named = mark("a name");
    const std::uint32_t nameless = mark("");
    const std::uint32_t again = mark("a name");
    CHECK(named < nameless);
    CHECK(nameless < again);
    CHECK(name_of(named) == "a name");
    CHECK(name_of(nameless).empty());
    CHECK(name_of(again).data() == name_of(named).data());
    CHECK(name_of(again + 1'000'000).empty());
}

TEST_CASE("ages of generations")
{
    const std::uint64_t before_ns = heapmark::platform::monotonic_ns();
    const std::uint32_t older = mark("");
    const std::uint32_t newer = mark("named");
    const std::uint64_t after_ns = heapmark::platform::monotonic_ns();
    constexpr std::uint64_t hour_ns = 3'600'000'000'000;
    for (const std::uint64_t later_ns : {std::uint64_t{0}, hour_ns, 24 * 90 * hour_ns}) {
        CHECK(age_ns(older, after_ns + later_ns) >= age_ns(newer, after_ns + later_ns));
        CHECK(age_ns(older, after_ns + later_ns) + 1024 >= later_ns);
        CHECK(age_ns(older, after_ns + later_ns) <= after_ns - before_ns + later_ns + 1024);
    }
    CHECK(age_ns(older, before_ns - 5000) == 0); // it was marked after that
    CHECK(age_ns(newer + 1'000'000, after_ns) == 0);
}

TEST_CASE("descends_from knows children, their children, and since when")
{
    const std::uint32_t root = add_thread(0, 10);
    const std::uint32_t stranger = add_thread(0, 10);
    const std::uint32_t early_child = add_thread(root, 11);
    const std::uint32_t late_child = add_thread(root, 20);
    const std::uint32_t early_grandchild = add_thread(early_child, 25);
    const std::uint32_t late_grandchild = add_thread(late_child, 25);
    const std::uint32_t of_stranger = add_thread(stranger, 25);
    CHECK(descends_from(root, root, 0));
    CHECK(descends_from(root, root, 30)); // itself, whenever
    CHECK(descends_from(early_child, root, 0));
    CHECK(descends_from(late_child, root, 20));
    CHECK_FALSE(descends_from(early_child, root, 20));
    CHECK(descends_from(early_grandchild, root, 0));
    CHECK_FALSE(descends_from(early_grandchild, root, 20)); // through a thread that is older
    CHECK(descends_from(late_grandchild, root, 20));
    CHECK_FALSE(descends_from(of_stranger, root, 0));
    CHECK_FALSE(descends_from(root, early_child, 0));
    CHECK_FALSE(descends_from(0, root, 0)); // unknown
}

TEST_CASE("equal texts get equal ids from colliding threads")
{
    std::vector<TextId> ids[collider_count];
    collide([&](int number) {
        for (int i = 0; i < 3000; ++i) ids[number].push_back(intern_text("text " + std::to_string(i)));
    });
    for (const auto& list : ids) CHECK(list == ids[0]);
    std::vector<TextId> sorted = ids[0];
    std::sort(sorted.begin(), sorted.end());
    CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
    for (std::size_t i = 0; i < ids[0].size(); ++i) CHECK(text(ids[0][i]) == "text " + std::to_string(i));
    CHECK(intern_text("") == no_text);
    CHECK(text(no_text).empty());
    CHECK(text(max_text).empty());
    CHECK(text(~TextId{0}).empty());
    const std::string_view kept = text(intern_text("ends with a zero"));
    CHECK(kept.data()[kept.size()] == '\0');
    const std::string large(100'000, 'l');
    CHECK(text(intern_text(large)) == large);
}

TEST_CASE("equal stacks get equal ids from colliding threads; chains hold the others apart")
{
    constexpr int stacks = 3000;
    std::vector<std::uint32_t> ids[collider_count];
    const std::uint64_t one_hash = 0x1234'5678'0000'0042U; // the same bucket, and even the same hash, for all
    const auto frames_of = [](int i) {
        return std::vector<std::uint64_t>{static_cast<std::uint64_t>(i) + 1, 77, static_cast<std::uint64_t>(i) * 3};
    };
    collide([&](int number) {
        for (int i = 0; i < stacks; ++i) {
            const auto frames = frames_of(i);
            const SiteKey key{heapmark::Api::malloc, 0, 0};
            // Every tenth stack in one long chain.
            ids[number].push_back(intern_site(i % 10 == 0 ? one_hash : site_hash(key, frames), key, frames));
        }
    });
    for (const auto& list : ids) CHECK(list == ids[0]);
    for (int i = 0; i < stacks; ++i) {
        const Site* kept = site(ids[0][static_cast<std::size_t>(i)]);
        REQUIRE(kept != nullptr);
        const auto frames = frames_of(i);
        CHECK(kept->depth_frames == 3);
        CHECK(std::equal(frames.begin(), frames.end(), kept->frames()));
    }
    std::vector<std::uint32_t> sorted = ids[0];
    std::sort(sorted.begin(), sorted.end());
    CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
    CHECK(site_count() >= stacks);
}

TEST_CASE("a site is its stack together with function, alignment and tag")
{
    const std::vector<std::uint64_t> frames = {1, 2, 3};
    const std::vector<std::uint64_t> shorter = {1, 2};
    std::vector<std::uint32_t> ids;
    for (const SiteKey& key : {SiteKey{heapmark::Api::malloc, 0, 0}, SiteKey{heapmark::Api::calloc, 0, 0},
                               SiteKey{heapmark::Api::malloc, 6, 0}, SiteKey{heapmark::Api::malloc, 0, 5}}) {
        ids.push_back(intern_site(site_hash(key, frames), key, frames));
        ids.push_back(intern_site(site_hash(key, shorter), key, shorter));
        CHECK(intern_site(site_hash(key, frames), key, frames) == ids[ids.size() - 2]);
    }
    std::sort(ids.begin(), ids.end());
    CHECK(std::adjacent_find(ids.begin(), ids.end()) == ids.end());
    CHECK(site(no_site) == nullptr);
    CHECK(site(internal_site) == nullptr);
    const SiteKey none{};
    const std::uint32_t empty = intern_site(site_hash(none, {}), none, {});
    CHECK(site(empty)->depth_frames == 0);
}
