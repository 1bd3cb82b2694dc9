// SPDX-License-Identifier: BSL-1.0
// What keeps growing, and what only seems to.
#include <heapmark/growth.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
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

[[gnu::noinline]] void* work(int)
{
    void* block = std::malloc(10);
    asm volatile("" : "+r"(block));
    return block;
}

void free_kept()
{
    for (void* block : kept) std::free(block);
    kept.clear();
}

/// Whether the watch has taken so many readings, in ten seconds at most.
bool comes_to(const GrowthWatch& watch, std::size_t readings)
{
    for (int i = 0; i < 10'000 && watch.size() < readings; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return watch.size() >= readings;
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
        CHECK(found[0].blocks_per_reading == doctest::Approx(1.0 / every).epsilon(0.05));
        CHECK(found[0].never_falls);
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
    CHECK(found[0].never_falls);
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
    // On a busy machine this thread may sleep for a quarter of the readings: then it takes longer.
    for (int i = 0; i < 4000 && (watch.size() < 40 || watch.growing().empty()); ++i) {
        keep_one(10);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    REQUIRE(watch.size() >= 40);
    std::ostringstream text;
    text << watch;
    const std::string told = text.str();
    CHECK_MESSAGE(told.find("keep_one") != std::string::npos, told);
    CHECK_MESSAGE(told.find("keeps growing: ") != std::string::npos, told);
    CHECK_MESSAGE(told.find("█") != std::string::npos, told);
    CHECK_MESSAGE(told.find("younger than") != std::string::npos, told);
    for (void* block : kept) std::free(block);
    kept.clear();
}

TEST_CASE("a leak of one block in a thousand iterations")
{
    kept.reserve(100);
    for (const bool noisy : {false, true}) {
        std::vector<void*> requests;
        requests.reserve(100);
        const std::vector<Growth> found = watched(480, [&](int reading) {
            for (void* block : requests) std::free(block);
            requests.clear();
            for (int i = reading * 100; i < (reading + 1) * 100; ++i) {
                void* const block = work(i);
                if (i % 1000 == 999)
                    kept.push_back(block);
                else if (noisy && i % 100 < reading * 7919 % 40)
                    requests.push_back(block); // not finished when the reading is taken
                else
                    std::free(block);
            }
        });
        for (void* block : requests) std::free(block);
        REQUIRE(found.size() == 1);
        CHECK(is_at(found[0], "work"));
        CHECK(found[0].never_falls == !noisy);
        CHECK(found[0].blocks_per_reading == doctest::Approx(0.1).epsilon(0.2));
    }
}

TEST_CASE("a cache that fills more and more slowly does not grow")
{
    for (unsigned seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        std::vector<bool> filled(1000);
        kept.reserve(1000);
        CHECK(watched(100, [&](int) {
                  for (int request = 0; request < 60; ++request) {
                      const std::size_t key = random() % filled.size();
                      if (!filled[key]) keep_one(20);
                      filled[key] = true;
                  }
              }).empty());
    }
}

TEST_CASE("how old what grows is")
{
    kept.reserve(100);
    GrowthWatch watch;
    for (int i = 0; i < 40; ++i) {
        keep_one(10);
        watch.read();
    }
    const std::vector<Growth> found = watch.growing();
    REQUIRE(found.size() == 1);
    CHECK(found[0].oldest.address == kept.front());
    CHECK(found[0].oldest.age.generations == 40);
    REQUIRE(found[0].ages.size() == 1);
    CHECK(found[0].ages[0].below_ns == 1'000'000'000);
    CHECK(found[0].ages[0].counts == heapmark::Counts{40, 400});
    std::ostringstream text;
    text << watch;
    CHECK_MESSAGE(text.str().find("  ages    █  40 younger than 1 s; the oldest of generation ") != std::string::npos,
                  text.str());
    std::this_thread::sleep_for(std::chrono::milliseconds(1001)); // what the classes are of
    heapmark::mark();
    keep_one(10);
    watch.read();
    const std::vector<Growth> later = watch.growing();
    REQUIRE(later[0].ages.size() == 2);
    CHECK(later[0].ages[0].counts.blocks == 1);
    CHECK(later[0].ages[1].below_ns == 10'000'000'000);
    CHECK(later[0].ages[1].counts.blocks == 40);
    free_kept();
}

TEST_CASE("readings at marks")
{
    kept.reserve(100);
    GrowthWatch watch;
    watch.read_at_marks();
    for (std::size_t i = 1; i <= 40; ++i) {
        keep_one(10);
        heapmark::mark();
        keep_one(10); // after the mark: not in its reading
        std::free(kept.back());
        kept.pop_back();
        REQUIRE(comes_to(watch, i));
    }
    const std::vector<Growth> found = watch.growing();
    REQUIRE(found.size() == 1);
    REQUIRE(found[0].readings.size() == 40);
    for (std::size_t i = 0; i < 40; ++i) CHECK(found[0].readings[i].blocks == i + 1);
    free_kept();
}

TEST_CASE("readings on a signal")
{
    static std::atomic<int> own{0};
    struct sigaction action = {};
    action.sa_handler = [](int) { own.fetch_add(1); };
    sigaction(SIGUSR2, &action, nullptr);
    kept.reserve(100);
    {
        GrowthWatch watch;
        CHECK_THROWS_AS(watch.read_on_signal(SIGKILL), std::system_error);
        CHECK_THROWS_AS(watch.read_on_signal(1000), std::system_error);
        watch.read_on_signal(SIGUSR2);
        for (std::size_t i = 1; i <= 20; ++i) {
            keep_one(10);
            kill(getpid(), SIGUSR2);
            REQUIRE(comes_to(watch, i));
        }
        REQUIRE(watch.growing().size() == 1);
        CHECK(own.load() == 0);
        // A handler that interrupts an allocation, a mark, or a reading.
        std::atomic<bool> stop{false};
        std::thread sender([&stop] {
            while (!stop.load()) kill(getpid(), SIGUSR2);
        });
        for (int i = 0; i < 20'000; ++i) {
            heapmark::mark();
            void* const block = std::malloc(10);
            heapmark::escape(block);
            std::free(block);
            if (i % 100 == 0) watch.read();
        }
        stop = true;
        sender.join();
    }
    raise(SIGUSR2);
    CHECK(own.load() == 1);
    signal(SIGUSR2, SIG_DFL);
    free_kept();
}

TEST_CASE("a child that is forked in the middle of a reading may look at the watch, and destroy it")
{
    kept.reserve(100);
    for (int i = 0; i < 30; ++i) {
        auto watch = std::make_unique<GrowthWatch>();
        watch->read_at_marks();
        for (int n = 0; n < 20; ++n) {
            keep_one(10);
            heapmark::mark();
        }
        REQUIRE(comes_to(*watch, 1));
        heapmark::mark();
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            const bool has_readings = watch->size() >= 1;
            static_cast<void>(watch->growing());
            watch.reset();
            _exit(has_readings ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(status == 0);
        free_kept();
    }
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
