// SPDX-License-Identifier: BSL-1.0
// No more pages: every step of the record does without, counts the loss, and takes nothing for a fault.
// A program of its own for each number of pages would be slow; instead each case begins at places of the tables that
// were never touched.
#include "invented.hpp"
#include "record/depot.hpp"
#include "record/generations.hpp"
#include "record/texts.hpp"

#include <doctest/doctest.h>

#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace heapmark::record;
using heapmark::platform::limit_page_requests_for_test;
using invented::at;
using invented::fresh_leaf;

namespace {

constexpr Kind kind = Kind::malloc_family;
constexpr std::uintptr_t leaf_bytes = std::uintptr_t{1} << leaf_shift;

struct Shortage {
    explicit Shortage(std::int64_t pages) { limit_page_requests_for_test(pages); }
    ~Shortage() { limit_page_requests_for_test(-1); }
    Shortage(const Shortage&) = delete;
    Shortage& operator=(const Shortage&) = delete;
};

} // namespace

TEST_CASE("no leaf: the block is not recorded, and counted as such")
{
    auto thread = invented::thread();
    const std::uint32_t generation = heapmark::record::clock.advance();
    birth(thread, at(fresh_leaf()), {1, 24}, kind, 2); // makes the thread's context
    const std::uint64_t before = unrecorded_count();
    void* block = at(fresh_leaf());
    {
        const Shortage shortage(0);
        birth(thread, block, {10, 24}, kind, 2);
    }
    CHECK(unrecorded_count() == before + 1);
    CHECK(invented::totals(generation).blocks == 1);
    CHECK(death(thread, block).outcome == Death::Outcome::unknown);
}

TEST_CASE("the sizes of a block at a leaf's edge need no other leaf")
{
    auto thread = invented::thread();
    const std::uint32_t generation = heapmark::record::clock.advance();
    void* block = at(fresh_leaf() + leaf_bytes - 32);
    birth(thread, block, {20, 24}, kind, 2);
    CHECK(death(thread, block).outcome == Death::Outcome::died);
    const std::uint64_t before = unrecorded_count();
    const Shortage shortage(0);
    for (const Sizes sizes : {Sizes{100, 104}, Sizes{100, 100'000}}) {
        birth(thread, block, sizes, kind, 2);
        CHECK(unrecorded_count() == before);
        CHECK(invented::totals(generation).blocks == 1);
        Sizes found;
        CHECK(is_live(find_block(block, found).kind()));
        CHECK(found.requested_bytes == sizes.requested_bytes);
        CHECK(found.usable_bytes == sizes.usable_bytes);
        CHECK(death(thread, block).outcome == Death::Outcome::died);
    }
}

TEST_CASE("no context: what cannot be booked in its generation is counted as unrecorded")
{
    // Uses up the chunk of contexts at hand, so that the next one needs a page.
    while ((heapmark::record::clock.take_context(1, 0)->id & 4095) != 4095) {}
    auto thread = invented::thread();
    void* block = at(fresh_leaf());
    void* second = at(reinterpret_cast<std::uintptr_t>(block) + 64);
    birth(thread, block, {1, 24}, kind, 2); // this one is allowed the page, if it needs it
    static_cast<void>(death(thread, block));
    while ((heapmark::record::clock.take_context(1, 0)->id & 4095) != 4095) {}
    auto fresh = invented::thread();
    const std::uint32_t generation = heapmark::record::clock.advance();
    const std::uint64_t before = unrecorded_count();
    {
        const Shortage shortage(0);
        birth(fresh, block, {10, 24}, kind, 2);
        birth(thread, second, {10, 24}, kind, 2); // has a context, of an older generation
    }
    const std::int64_t counted = invented::totals(generation).blocks;
    CHECK(counted + static_cast<std::int64_t>(unrecorded_count() - before) == 2);
    CHECK(death(fresh, block).outcome != Death::Outcome::released_before);
    CHECK(death(thread, second).outcome != Death::Outcome::released_before);
    CHECK(invented::totals(generation).blocks == 0);
    CHECK(invented::totals(generation).bytes == 0);
}

TEST_CASE("no depot: stacks are not kept, and texts neither")
{
    const Shortage shortage(0);
    const std::vector<std::uint64_t> frames(32, 5);
    int refused = 0;
    for (std::uint64_t i = 0; i < 100'000 && refused == 0; ++i) { // what is left of the chunk at hand is used up first
        std::vector<std::uint64_t> own = frames;
        own[0] = 1000 + i;
        if (intern_site(site_hash({}, own), {}, own) == no_site) ++refused;
    }
    CHECK(refused == 1);
    CHECK(intern_text(std::string(3'000'000, 't')) == no_text);
    const std::uint32_t generation = mark("a name that finds no place: " + std::string(2'000'000, 'n'));
    CHECK(name_of(generation).empty());
    CHECK(generation == heapmark::record::clock.generation());
}

TEST_CASE("whichever page request fails, the loss is counted and what was recorded is right")
{
    // A child for each number of pages, so that each begins with the same tables.
    int worked = 0;
    for (std::int64_t pages = 0; pages < 14; ++pages) {
        CAPTURE(pages);
        const pid_t child = fork();
        if (child == 0) {
            limit_page_requests_for_test(pages);
            auto thread = invented::thread();
            const std::uint64_t before = unrecorded_count();
            const std::uint32_t generation = mark("name");
            std::int64_t recorded = 0;
            constexpr std::int64_t blocks = 12;
            std::uintptr_t addresses[blocks];
            for (std::int64_t i = 0; i < blocks; ++i) {
                addresses[i] = fresh_leaf() + leaf_bytes - 32; // each needs a leaf for itself
                const std::vector<std::uint64_t> frames(10, static_cast<std::uint64_t>(i + 1));
                const std::uint32_t site = intern_site(site_hash({}, frames), {}, frames);
                birth(thread, at(addresses[i]), {1000, 1000}, kind, site);
                Sizes sizes;
                if (is_live(find_block(at(addresses[i]), sizes).kind())) {
                    ++recorded;
                    if (sizes.requested_bytes != 1000) _exit(2);
                }
            }
            const auto lost = static_cast<std::int64_t>(unrecorded_count() - before);
            if (invented::totals(generation).blocks + lost != blocks) _exit(3);
            if (lost == 0) _exit(4); // twelve leaves, contexts and depot cannot be had
            for (const std::uintptr_t address : addresses)
                if (death(thread, at(address)).outcome == Death::Outcome::released_before) _exit(5);
            if (invented::totals(generation).blocks != 0 || invented::totals(generation).bytes != 0) _exit(6);
            _exit(recorded > 0 ? 100 : 0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status));
        CHECK((WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 100));
        worked += WEXITSTATUS(status) == 100 ? 1 : 0;
    }
    CHECK(worked > 3);
}
