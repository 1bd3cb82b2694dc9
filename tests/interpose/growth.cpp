// SPDX-License-Identifier: BSL-1.0
// What keeps growing, and what only seems to.
#include <heapmark/growth.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using heapmark::Growth;
using heapmark::GrowthWatch;

namespace {

std::vector<void*> kept;

/// Calls `step(i)` and reads, so often.
template <class Step>
std::vector<Growth> watched(int times, Step step)
{
    GrowthWatch watch;
    for (int i = 0; i < times; ++i) {
        step(i);
        watch.read();
    }
    std::vector<Growth> found = watch.growing();
    for (void* block : kept) std::free(block);
    kept.clear();
    return found;
}

[[gnu::noinline]] void keep_one(std::size_t size)
{
    kept.push_back(std::malloc(size));
    asm volatile("" : : : "memory");
}

bool is_at(const Growth& growth, const char* function) { return growth.site.find(function) != std::string_view::npos; }

} // namespace

TEST_CASE("a leak in each round, and one in each thirtieth")
{
    kept.reserve(1000);
    for (const int every : {1, 30}) {
        const std::vector<Growth> found = watched(240, [every](int i) {
            if (i % every == 0) keep_one(10);
        });
        REQUIRE(found.size() == 1);
        CHECK(is_at(found[0], "keep_one"));
        CHECK(found[0].in_blocks);
        CHECK(found[0].in_bytes);
        CHECK(found[0].readings.size() == 240);
        CHECK(found[0].readings.back().blocks == static_cast<std::uint64_t>(240 / every));
        CHECK(found[0].blocks_per_reading == doctest::Approx(1.0 / every));
        CHECK(found[0].blocks.size() == static_cast<std::size_t>(240 / every));
    }
}

TEST_CASE("caches that fill, and what comes and goes, do not grow")
{
    kept.reserve(1000);
    CHECK(watched(100, [](int i) {
              if (i < 50) keep_one(100); // filled half way
          }).empty());
    CHECK(watched(100, [](int i) {
              for (int n = 0; n < i * 37 % 11; ++n) keep_one(100);
              if (i % 3 == 0) {
                  for (void* block : kept) std::free(block);
                  kept.clear();
              }
          }).empty());
}

TEST_CASE("a leak below the noise is found, and a growing buffer by its bytes")
{
    kept.reserve(3000);
    std::vector<void*> noise;
    noise.reserve(100);
    const std::vector<Growth> found = watched(200, [&noise](int i) {
        for (void* block : noise) std::free(block);
        noise.clear();
        keep_one(5);
        for (int n = 0; n < i * 7919 % 50; ++n) {
            noise.push_back(std::malloc(5));
        }
    });
    REQUIRE(found.size() == 1);
    CHECK(is_at(found[0], "keep_one"));
    for (void* block : noise) std::free(block);

    void* buffer = nullptr;
    const std::vector<Growth> grown =
        watched(50, [&buffer](int i) { buffer = std::realloc(buffer, 100 * static_cast<std::size_t>(i + 1)); });
    REQUIRE(grown.size() == 1);
    CHECK_FALSE(grown[0].in_blocks);
    CHECK(grown[0].in_bytes);
    CHECK(grown[0].bytes_per_reading == doctest::Approx(100));
    std::free(buffer);
}

TEST_CASE("thousands of readings are thinned out, and still tell")
{
    kept.reserve(3000);
    const std::vector<Growth> found = watched(2500, [](int) { keep_one(1); });
    REQUIRE(found.size() == 1);
    CHECK(found[0].readings.size() <= 512);
    CHECK(found[0].readings.back().blocks > 2400);
}

TEST_CASE("texts, and readings in a thread")
{
    kept.reserve(5000);
    GrowthWatch watch;
    std::ostringstream early;
    early << watch;
    CHECK(early.str() == "too few readings to tell what grows: 0 of at least 8\n");
    watch.read_every(2);
    for (int i = 0; i < 4000 && watch.size() < 40; ++i) {
        keep_one(10);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    REQUIRE(watch.size() >= 40);
    std::ostringstream text;
    text << watch;
    const std::string told = text.str();
    CHECK_MESSAGE(told.find("keep_one") != std::string::npos, told);
    CHECK_MESSAGE(told.find("keeps growing: ") != std::string::npos, told);
    CHECK_MESSAGE(told.find("▁") != std::string::npos, told);
    CHECK_MESSAGE(told.find("younger than") != std::string::npos, told);
    for (void* block : kept) std::free(block);
    kept.clear();
}

TEST_CASE("a watch leaves no survivors")
{
    const heapmark::Generation since = heapmark::mark();
    {
        GrowthWatch watch;
        for (int i = 0; i < 20; ++i) watch.read();
        CHECK(watch.growing().empty());
    }
    CHECK(heapmark::survivors(since).empty());
}
