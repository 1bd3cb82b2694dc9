// SPDX-License-Identifier: BSL-1.0
// The stack cache on random call trees: on one thread, on many, and through libraries that come and go.
#include "refresh_check.hpp"

#include "platform/modules.hpp"

#include <doctest/doctest.h>

#include <alloca.h>
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
    CHECK(check.found.known * 20 > check.found.looks);
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
        void* handle = dlopen(round % 2 == 1 ? HEAPMARK_TEST_LIKE_PLUGIN : HEAPMARK_TEST_OTHER_PLUGIN, RTLD_LAZY);
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

namespace {

RefreshCheck* checked;

inline void keep(void* object) noexcept { asm volatile("" : "+r"(object) : : "memory"); }

void look_here() { check_refresh_here(*checked, heapmark::capture::max_depth_frames, 0); }

/// Saves the frame register, as its caller left it.
[[gnu::noinline]] void saving_fp()
{
    keep(__builtin_frame_address(0));
    look_here();
    keep(nullptr);
}

[[gnu::noinline]] void leaving_fp()
{
    look_here();
    keep(nullptr);
}

/// Grows by what its caller grew less, so that the frames inside stay in their places.
[[gnu::noinline]] void growing(std::size_t bytes, void (*next)())
{
    void* space = alloca(bytes);
    keep(space);
    next();
    keep(space);
}

/// Its frame begins in the same place wherever its caller's ended.
[[gnu::noinline]] void aligning(std::size_t, void (*next)())
{
    alignas(1024) char space[1024];
    std::size_t bytes = 64; // that the compiler does not know: then g++ finds the frame by a saved stack pointer
    asm volatile("" : "+r"(bytes));
    keep(alloca(bytes));
    keep(space);
    next();
    keep(space);
}

using Inner = void (*)(std::size_t bytes, void (*next)());

/// The return address of the call before stays in what the second call's frame does not write.
[[gnu::noinline]] void from_two_places(bool second, std::size_t less, Inner inner, void (*next)())
{
    if (second) {
        void* space = alloca(64 + less);
        keep(space);
        inner(512 - less, next);
        keep(nullptr);
    } else {
        void* space = alloca(64);
        keep(space);
        inner(512, next);
        keep(space);
    }
}

} // namespace

TEST_CASE("frames that moved, with the old return addresses still in memory")
{
    RefreshCheck check;
    checked = &check;
    for (const Inner inner : {growing, aligning})
        for (void (*const next)() : {saving_fp, leaving_fp, look_here})
            for (const std::size_t less : {16U, 32U, 64U, 128U, 256U})
                for (int round = 0; round < 8; ++round) from_two_places(round % 2 == 1, less, inner, next);
    CHECK_FOUND_RIGHT(check.found, 240);
    CHECK(check.found.given_up == 0);
}
