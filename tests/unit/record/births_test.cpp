// SPDX-License-Identifier: BSL-1.0
// Births, deaths and sizes in the allocation map, at invented addresses: leaf edges, half granules, huge blocks.
#include "invented.hpp"
#include "record/depot.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace heapmark::record;
using invented::at;
using invented::fresh_leaf;

namespace {

constexpr Kind kind = Kind::malloc_family;
constexpr std::uint32_t some_site = 0x1ABCDEF;

constexpr std::uintptr_t leaf_bytes = std::uintptr_t{1} << leaf_shift;

struct SizesCase {
    std::size_t requested;
    std::size_t usable;
};

const SizesCase sizes_cases[] = {
    {0, 24},
    {1, 24},
    {24, 24},
    {25, 40},
    {40, 40},
    {55, 56},
    {56, 56},
    {57, 72},
    {0, 72},
    {63, 72},
    {64, 72},
    {4096, 4104},
    {4000, 8094},
    {4000, 8095}, // slack 4094, 4095
    {4000, 8096},
    {1, 100'000},
    {0, std::size_t{1} << 40},
    {(std::size_t{1} << 40) + 12'345, (std::size_t{1} << 40) + 16'384},
    {std::size_t{5} << 40, std::size_t{5} << 40},
    {(std::size_t{1} << 47) - 1, (std::size_t{1} << 47) + 4095},
};

} // namespace

TEST_CASE("sizes are kept exactly wherever a block starts")
{
    auto thread = invented::thread();
    const std::uint32_t generation = heapmark::record::clock.advance();
    for (const SizesCase& sizes : sizes_cases) {
        const std::uintptr_t leaf = fresh_leaf();
        for (const std::uintptr_t offset :
             {std::uintptr_t{0}, std::uintptr_t{16}, std::uintptr_t{32}, std::uintptr_t{48}, leaf_bytes / 2,
              leaf_bytes - 96, leaf_bytes - 80, leaf_bytes - 64, leaf_bytes - 48, leaf_bytes - 32, leaf_bytes - 16}) {
            CAPTURE(sizes.requested);
            CAPTURE(sizes.usable);
            CAPTURE(offset);
            void* block = at(leaf + offset);
            birth(thread, block, {sizes.requested, sizes.usable}, kind, some_site);
            Sizes found;
            const Entry entry = find_block(block, found);
            CHECK(entry.kind() == kind);
            CHECK(entry.site() == some_site);
            CHECK(entry.context() == thread.context_record->id);
            CHECK(entry.half() == (offset % 32 == 16));
            CHECK(found.requested_bytes == sizes.requested);
            CHECK(found.usable_bytes == sizes.usable);
            CHECK(invented::totals(generation).blocks == 1);
            CHECK(invented::totals(generation).bytes == static_cast<std::int64_t>(sizes.requested));

            const Death gone = death(thread, block);
            CHECK(gone.outcome == Death::Outcome::died);
            CHECK(gone.sizes.requested_bytes == sizes.requested);
            CHECK(gone.sizes.usable_bytes == sizes.usable);
            CHECK(invented::totals(generation).blocks == 0);
            CHECK(invented::totals(generation).bytes == 0);
            CHECK(death(thread, block).outcome == Death::Outcome::released_before);
            CHECK(find_block(block, found) == Entry{});
        }
    }
}

TEST_CASE("plain_death takes what is right and leaves the rest alone")
{
    auto thread = invented::thread();
    const std::uint32_t generation = heapmark::record::clock.advance();
    for (const SizesCase& sizes : sizes_cases) {
        void* block = at(fresh_leaf() + leaf_bytes - 64); // the extension is the last word of the leaf
        birth(thread, block, {sizes.requested, sizes.usable}, kind, some_site);
        CHECK_FALSE(plain_death(thread, block, Kind::new_single, unstated));
        CHECK_FALSE(plain_death(thread, block, kind, sizes.requested + 1));
        CHECK_FALSE(plain_death(thread, at(reinterpret_cast<std::uintptr_t>(block) + 16), kind, unstated));
        CHECK_FALSE(plain_death(thread, at(reinterpret_cast<std::uintptr_t>(block) + 8), kind, unstated));
        CHECK(invented::totals(generation).blocks == 1);
        CHECK(plain_death(thread, block, kind, sizes.requested));
        CHECK_FALSE(plain_death(thread, block, kind, unstated));
        CHECK(invented::totals(generation).blocks == 0);
        CHECK(invented::totals(generation).bytes == 0);
    }
}

TEST_CASE("plain_birth records what birth would, or nothing")
{
    auto thread = invented::thread();
    const std::uint32_t generation = heapmark::record::clock.advance();
    for (const SizesCase& sizes : sizes_cases) {
        void* block = at(fresh_leaf() + leaf_bytes - 32);
        const Sizes both{sizes.requested, sizes.usable};
        CHECK_FALSE(plain_birth(thread, block, both, kind, some_site)); // no leaf yet
        birth(thread, block, both, kind, some_site);
        Sizes by_birth;
        const Entry entry = find_block(block, by_birth);
        CHECK_FALSE(plain_birth(thread, block, both, kind, some_site)); // it lives
        CHECK(plain_death(thread, block, kind, unstated));
        if (plain_birth(thread, block, both, kind, some_site)) {
            Sizes by_plain;
            CHECK(find_block(block, by_plain) == entry);
            CHECK(by_plain.requested_bytes == by_birth.requested_bytes);
            CHECK(by_plain.usable_bytes == by_birth.usable_bytes);
            CHECK(invented::totals(generation).bytes == static_cast<std::int64_t>(sizes.requested));
            CHECK(plain_death(thread, block, kind, unstated));
        } else
            CHECK(sizes.usable - sizes.requested >= Extension::slack_in_next);
        CHECK(invented::totals(generation).blocks == 0);
        CHECK(invented::totals(generation).bytes == 0);
    }
    void* block = at(fresh_leaf());
    birth(thread, block, {10, 24}, kind, some_site);
    CHECK(death(thread, block).outcome == Death::Outcome::died);
    CHECK_FALSE(plain_birth(thread, at(reinterpret_cast<std::uintptr_t>(block) + 8), {10, 24}, kind, some_site));
    CHECK_FALSE(plain_birth(thread, at(std::uintptr_t{1} << 47), {10, 24}, kind, some_site));
    heapmark::record::clock.advance();
    CHECK_FALSE(plain_birth(thread, block, {10, 24}, kind, some_site)); // the context is of the generation before
    CHECK(invented::totals(generation).blocks == 0);
}

TEST_CASE("only the start of a block is the block")
{
    auto thread = invented::thread();
    const std::uintptr_t start = fresh_leaf() + 32 * 100;
    birth(thread, at(start), {1000, 1000}, kind, some_site);
    Sizes sizes;
    for (std::uintptr_t offset = 1; offset < 1000; ++offset) {
        CHECK(find_block(at(start + offset), sizes) == Entry{});
        CHECK(block_around(start + offset) == start);
        CHECK(death(thread, at(start + offset)).outcome == Death::Outcome::unknown);
    }
    CHECK(block_around(start) == 0);
    CHECK(block_around(start + 1000) == 0);
    CHECK(block_around(start - 1) == 0);
    CHECK(death(thread, at(start)).outcome == Death::Outcome::died);
    CHECK(block_around(start + 500) == 0);
    CHECK(death(thread, at(~std::uintptr_t{15})).outcome == Death::Outcome::unknown); // beyond the address space
    CHECK(death(thread, at(0)).outcome == Death::Outcome::unknown);
}

TEST_CASE("an address inside a block that reaches over a leaf's edge")
{
    auto thread = invented::thread();
    const std::uintptr_t start = fresh_leaf() + leaf_bytes - 64;
    birth(thread, at(start), {leaf_bytes / 2, leaf_bytes / 2}, kind, some_site);
    CHECK(block_around(start + 40) == start);
    CHECK(block_around(start + leaf_bytes / 2 - 1) == start);
    CHECK(block_around(start + leaf_bytes / 2) == 0);
    CHECK(death(thread, at(start)).outcome == Death::Outcome::died);
}

TEST_CASE("a second release long after tells of no sizes that others have overwritten")
{
    auto thread = invented::thread();
    const std::uintptr_t start = fresh_leaf() + 320;
    birth(thread, at(start), {500, 504}, kind, some_site);
    CHECK(death(thread, at(start)).outcome == Death::Outcome::died);
    CHECK(death(thread, at(start)).sizes.requested_bytes == 500);
    birth(thread, at(start + 32), {20, 24}, kind, some_site); // where the sizes were
    const Death second = death(thread, at(start));
    CHECK(second.outcome == Death::Outcome::released_before);
    CHECK(second.sizes.requested_bytes == 0);
    CHECK(second.sizes.usable_bytes == 0);
    CHECK(Resize(thread, at(start)).before().sizes.requested_bytes == 0);
    static_cast<void>(death(thread, at(start + 32)));
}

TEST_CASE("heapmark's own blocks count nowhere")
{
    auto thread = invented::thread();
    const std::uint32_t generation = heapmark::record::clock.advance();
    void* block = at(fresh_leaf());
    birth(thread, block, {100, 104}, Kind::internal, internal_site);
    CHECK(invented::totals(generation).blocks == 0);
    CHECK(death(thread, block).outcome == Death::Outcome::internal);
    CHECK(death(thread, block).outcome == Death::Outcome::unknown); // nothing is kept of it
}

TEST_CASE("a block whose release nobody saw is booked out when its address comes back")
{
    auto thread = invented::thread();
    auto other = invented::thread();
    const std::uint32_t generation = heapmark::record::clock.advance();
    void* block = at(fresh_leaf() + 16);
    birth(thread, block, {100, 104}, kind, some_site);
    birth(other, block, {30, 40}, kind, some_site);
    CHECK(invented::totals(generation).blocks == 1);
    CHECK(invented::totals(generation).bytes == 30);
    CHECK(death(thread, block).outcome == Death::Outcome::died);
    CHECK(invented::totals(generation).blocks == 0);
    CHECK(invented::totals(generation).bytes == 0);
}

TEST_CASE("ignored blocks leave the totals, and their deaths do not")
{
    auto thread = invented::thread();
    const std::uint32_t generation = heapmark::record::clock.advance();
    const std::uintptr_t leaf = fresh_leaf();
    thread.ignore_depth = 1;
    birth(thread, at(leaf), {10, 24}, kind, some_site);
    thread.ignore_depth = 0;
    birth(thread, at(leaf + 64), {20, 24}, kind, some_site);
    birth(thread, at(leaf + 128), {5000, 5000}, kind, some_site);
    CHECK(invented::totals(generation).blocks == 2);
    CHECK(make_ignored(at(leaf + 128)));
    CHECK(make_ignored(at(leaf + 128))); // once more is as good
    CHECK_FALSE(make_ignored(at(leaf + 144)));
    CHECK_FALSE(make_ignored(at(leaf + 32)));
    CHECK(invented::totals(generation).blocks == 1);
    CHECK(invented::totals(generation).bytes == 20);
    for (const std::uintptr_t offset : {0U, 64U, 128U})
        CHECK(death(thread, at(leaf + offset)).outcome == Death::Outcome::died);
    CHECK(invented::totals(generation).blocks == 0);
    CHECK(invented::totals(generation).bytes == 0);
    CHECK_FALSE(make_ignored(at(leaf + 128)));
}

TEST_CASE("resize: kept when the allocator failed, gone when it did not")
{
    auto thread = invented::thread();
    const std::uint32_t generation = heapmark::record::clock.advance();
    void* block = at(fresh_leaf() + 64);
    birth(thread, block, {100, 104}, kind, some_site);
    Sizes sizes;
    const Entry before = find_block(block, sizes);
    {
        Resize step(thread, block);
        CHECK(step.before().outcome == Death::Outcome::died);
        CHECK(step.before().sizes.requested_bytes == 100);
        CHECK(death(thread, block).outcome == Death::Outcome::released_before); // freed under realloc's hands
        step.keep();
    }
    CHECK(find_block(block, sizes) == before);
    CHECK(invented::totals(generation).bytes == 100);
    {
        Resize step(thread, block);
        step.done();
        birth(thread, block, {50, 104}, kind, some_site);
    }
    CHECK(invented::totals(generation).blocks == 1);
    CHECK(invented::totals(generation).bytes == 50);
    {
        Resize step(thread, block);
        auto other = invented::thread(); // the allocator moved the block, and gave its place to somebody else
        birth(other, block, {7, 24}, kind, some_site);
        step.done();
    }
    CHECK(invented::totals(generation).blocks == 1);
    CHECK(invented::totals(generation).bytes == 7);
    CHECK(death(thread, block).outcome == Death::Outcome::died);
    CHECK(Resize(thread, block).before().outcome == Death::Outcome::released_before);
    CHECK(Resize(thread, at(fresh_leaf())).before().outcome == Death::Outcome::unknown);
    CHECK(invented::totals(generation).blocks == 0);
    CHECK(invented::totals(generation).bytes == 0);
}

TEST_CASE("deaths by other threads are booked on the birth's context")
{
    auto owner = invented::thread();
    auto other = invented::thread();
    const std::uint32_t first = heapmark::record::clock.advance();
    const std::uintptr_t leaf = fresh_leaf();
    for (std::uintptr_t i = 0; i < 10; ++i) birth(owner, at(leaf + i * 64), {i, 24}, kind, some_site);
    const std::uint32_t second = heapmark::record::clock.advance();
    for (std::uintptr_t i = 10; i < 20; ++i) birth(owner, at(leaf + i * 64), {i, 24}, kind, some_site);
    CHECK(invented::totals(first).blocks == 20);
    CHECK(invented::totals(second).blocks == 10);
    for (std::uintptr_t i = 5; i < 15; ++i) CHECK(death(other, at(leaf + i * 64)).outcome == Death::Outcome::died);
    CHECK(invented::totals(first).blocks == 10);
    CHECK(invented::totals(second).blocks == 5);
    CHECK(invented::totals(second).bytes == 15 + 16 + 17 + 18 + 19);
    for (const std::uintptr_t i : {0U, 1U, 2U, 3U, 4U, 15U, 16U, 17U, 18U, 19U})
        static_cast<void>(death(other, at(leaf + i * 64)));
    CHECK(invented::totals(first).blocks == 0);
    CHECK(invented::totals(first).bytes == 0);
}
