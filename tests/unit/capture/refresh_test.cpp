// SPDX-License-Identifier: BSL-1.0
// The stack cache on random call trees: on one thread, on many, and through libraries that come and go.
#include "refresh_check.hpp"

#include "platform/modules.hpp"

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <memory>
#include <thread>
#include <vector>

using namespace capture_test;

namespace {

Wanderer wanderer_for(RefreshCheck& check, std::uint64_t seed, int looks, int most_deep)
{
    Wanderer w{all_stops(), look_by_refresh, seed, looks, most_deep};
    w.other = &check;
    return w;
}

/// An outermost frame whose own place on the stack has to be read from it.
[[gnu::noinline]] void wander_from_aligned(Wanderer& w)
{
    alignas(128) char space[128];
    asm volatile("" : : "r"(&space[0]) : "memory");
    wander(w);
    asm volatile("" : : "r"(&space[0]) : "memory");
}

} // namespace

TEST_CASE("random call trees")
{
    RefreshCheck check;
    std::uint64_t seed = 0x9e3779b97f4a7c15U;
    for (const int most_deep : {3, 12, 40, 150}) {
        for (int round = 0; round < 10; ++round) {
            Wanderer w = wanderer_for(check, seed += 2, 30000, most_deep);
            wander(w);
        }
    }
    CHECK_FOUND_RIGHT(check.found, 1200000);
    CHECK(check.found.given_up == 0);
    CHECK(check.found.shortened * 4 > check.found.looks);
}

TEST_CASE("random call trees of several threads, from a realigned frame")
{
    std::vector<std::unique_ptr<RefreshCheck>> checks(4);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < checks.size(); ++i)
        threads.emplace_back([&checks, i] {
            checks[i] = std::make_unique<RefreshCheck>();
            for (std::uint64_t round = 0; round < 5; ++round) {
                Wanderer w = wanderer_for(*checks[i], 100 * (i + 1) + round, 10000, i % 2 == 0 ? 20 : 100);
                wander_from_aligned(w);
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (const auto& check : checks) {
        CHECK_FOUND_RIGHT(check->found, 50000);
        CHECK(check->found.given_up == 0);
    }
}

TEST_CASE("the same stack, and one a frame deeper or less deep, at every limit")
{
    RefreshCheck check;
    for (unsigned max_frames = 1; max_frames <= heapmark::capture::max_depth_frames; ++max_frames)
        for (std::uint64_t round = 0; round < 200; ++round) {
            struct Recursion {
                RefreshCheck& check;
                unsigned max_frames;
                std::uint64_t round;
                [[gnu::noinline]] void down(unsigned depth)
                {
                    check_refresh_here(check, max_frames, round);
                    if (depth != 0) down(depth - 1);
                    check_refresh_here(check, max_frames, round + 1);
                }
            };
            Recursion{check, max_frames, round}.down(static_cast<unsigned>(round % 120));
        }
    CHECK_FOUND_RIGHT(check.found, 600000);
    CHECK(check.found.given_up == 0);
}

namespace {

RefreshCheck* checked_by_plugin;
unsigned limit_for_plugin;
void look_from_plugin() { check_refresh_here(*checked_by_plugin, limit_for_plugin, 0); }

} // namespace

TEST_CASE("libraries that are unloaded, with others in their place")
{
    RefreshCheck check;
    checked_by_plugin = &check;
    const void* first = nullptr;
    int same_place = 0;
    for (int round = 0; round < 60; ++round) {
        void* handle = dlopen(round % 3 == 1 ? HEAPMARK_TEST_OTHER_PLUGIN : HEAPMARK_TEST_PLUGIN, RTLD_LAZY);
        REQUIRE(handle != nullptr);
        auto* run = reinterpret_cast<void (*)(int, void (*)())>(dlsym(handle, "plugin_run"));
        if (first == nullptr) first = reinterpret_cast<const void*>(run);
        if (first == reinterpret_cast<const void*>(run)) ++same_place;
        for (const int depth : {0, 3, 3, 1, 40, 39})
            for (const unsigned limit : {5U, 32U}) {
                limit_for_plugin = limit;
                run(depth, look_from_plugin);
            }
        dlclose(handle);
        heapmark::platform::note_unload();
    }
    CHECK_FOUND_RIGHT(check.found, 60 * 12);
    CHECK(check.found.given_up == 0);
    MESSAGE("in the same place: ", same_place);
}
