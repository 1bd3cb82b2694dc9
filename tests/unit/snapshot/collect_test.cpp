// SPDX-License-Identifier: BSL-1.0
// Collecting survivors from a map of invented blocks: ranges, what is passed by, what a block tells.
#include "../record/invented.hpp"
#include "record/depot.hpp"
#include "record/generations.hpp"
#include "record/texts.hpp"

#include <heapmark/heapmark.hpp>

#include <doctest/doctest.h>

#include <random>
#include <set>

using namespace heapmark;
using invented::at;
using invented::fresh_leaf;

namespace {

constexpr auto kind = record::Kind::malloc_family;
constexpr std::uintptr_t leaf_bytes = std::uintptr_t{1} << record::leaf_shift;

Generation next() { return mark(); }

std::size_t usable_of(std::size_t size) { return (size + 31) / 8 * 8; } // a multiple of 8, as small blocks' are

void bear(platform::ThreadState& thread, std::uintptr_t address, std::size_t size)
{
    record::birth(thread, at(address), {size, usable_of(size)}, kind, 2);
}

} // namespace

TEST_CASE("random births and deaths in many generations: every range lists exactly what a list kept by hand does")
{
    struct Known {
        std::uintptr_t address;
        std::size_t size;
        Generation generation;
        bool alive;
    };
    std::mt19937 random(4711);
    platform::ThreadState threads[3] = {invented::thread(), invented::thread(), invented::thread()};
    std::vector<Known> known;
    const Generation first = next();
    Generation now = first;
    std::vector<std::uintptr_t> leaves;
    for (int i = 0; i < 4; ++i) leaves.push_back(fresh_leaf());
    std::set<std::uintptr_t> used;
    for (int step = 0; step < 4000; ++step) {
        if (random() % 40 == 0) now = next();
        if (random() % 3 != 0) {
            // Half the blocks close together, so that pages hold several generations; some at edges.
            std::uintptr_t address =
                leaves[random() % 4] + (random() % 2 == 0 ? random() % 4000 : random() % (leaf_bytes / 128)) * 128;
            if (random() % 50 == 0) address = leaves[random() % 4] + leaf_bytes - 128 + random() % 8 * 16;
            address += random() % 2 * 16;
            if (!used.insert(address / 128).second) continue;
            const std::size_t size = random() % 100; // with the usable bytes at most 124: neighbours stay apart
            bear(threads[random() % 3], address, size);
            known.push_back({address, size, now, true});
        } else if (!known.empty()) {
            Known& one = known[random() % known.size()];
            if (!one.alive) continue;
            one.alive = false;
            CHECK(record::death(threads[random() % 3], at(one.address)).outcome == record::Death::Outcome::died);
        }
    }
    const auto number = [](Generation generation) { return static_cast<std::uint64_t>(generation); };
    for (std::uint64_t from = number(first); from <= number(now); from += 3)
        for (std::uint64_t to = from; to <= number(now); to += 7) {
            const Snapshot listed = survivors(Generation{from}, Generation{to});
            std::size_t blocks = 0;
            std::uint64_t bytes = 0;
            for (const Known& one : known)
                if (one.alive && number(one.generation) >= from && number(one.generation) <= to) {
                    ++blocks;
                    bytes += one.size;
                }
            CHECK(listed.size() == blocks);
            CHECK(listed.bytes() == bytes);
            CHECK(listed.first() == Generation{from});
            CHECK(listed.last() == Generation{to});
            for (const Block& block : listed) {
                CHECK(number(block.generation) >= from);
                CHECK(number(block.generation) <= to);
                CHECK(block.usable_size == usable_of(block.size));
            }
        }
    const Counts counted = counts(first);
    const Snapshot all = survivors(first);
    CHECK(all.size() == counted.blocks);
    CHECK(all.bytes() == counted.bytes);
    for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i - 1].address < all[i].address);
    CHECK(survivors(Generation{number(now) + 1}).empty());
    CHECK(survivors(now, first).empty() == (now != first));
    for (Known& one : known)
        if (one.alive) static_cast<void>(record::death(threads[0], at(one.address)));
    CHECK(survivors(first).empty());
}

TEST_CASE("a page that an older generation touched last is passed by, one touched again is not")
{
    auto thread = invented::thread();
    const std::uintptr_t leaf = fresh_leaf();
    const Generation old = next();
    for (std::uintptr_t i = 0; i < 100; ++i) bear(thread, leaf + (i << record::page_shift), i);
    const Generation young = next();
    CHECK(survivors(old).size() == 100);
    CHECK(survivors(young).empty());
    bear(thread, leaf + (std::uintptr_t{50} << record::page_shift) + 256, 7);
    CHECK(survivors(young).size() == 1);
    CHECK(survivors(old, old).size() == 100);
    bear(thread, leaf + leaf_bytes - 64, 8);
    CHECK(survivors(young).size() == 2);
    // The newest words only grow: after the deaths the pages are searched, and nothing is found.
    static_cast<void>(record::death(thread, at(leaf + leaf_bytes - 64)));
    static_cast<void>(record::death(thread, at(leaf + (std::uintptr_t{50} << record::page_shift) + 256)));
    CHECK(survivors(young).empty());
    for (std::uintptr_t i = 0; i < 100; ++i)
        static_cast<void>(record::death(thread, at(leaf + (i << record::page_shift))));
}

TEST_CASE("what a block tells of its birth")
{
    auto thread = invented::thread();
    thread.tag = record::intern_text("parser");
    const std::vector<std::uint64_t> frames = {0x0001'0000'0040'1000U, 0x0001'0000'0040'2000U};
    const record::SiteKey key{Api::reallocarray, 0, thread.tag};
    const std::uint32_t site = record::intern_site(record::site_hash(key, frames), key, frames);
    const Generation born = mark("born here");
    const std::uintptr_t address = fresh_leaf() + 48;
    record::birth(thread, at(address), {1234, 1240}, kind, site);
    mark();
    mark();
    const Snapshot alive = survivors(born);
    REQUIRE(alive.size() == 1);
    const Block& block = alive[0];
    CHECK(block.address == at(address));
    CHECK(block.size == 1234);
    CHECK(block.usable_size == 1240);
    CHECK(block.generation == born);
    CHECK(generation_name(block.generation) == "born here");
    CHECK(block.age.generations == 2);
    CHECK(block.age.nanoseconds > 0);
    CHECK(block.thread == ThreadId{thread.thread});
    CHECK(block.api == Api::reallocarray);
    CHECK(block.tag == "parser");
    CHECK_FALSE(block.ignored);
    REQUIRE(block.stack.size() == 2);
    CHECK(block.stack[0].address() == 0x40'1000);
    CHECK(block.stack[0].module() == 1);
    CHECK(block.stack[1].address() == 0x40'2000);

    CHECK(forget(at(address)));
    CHECK(survivors(born).empty());
    const Snapshot all = survivors(born, Ignored::include);
    REQUIRE(all.size() == 1);
    CHECK(all[0].ignored);
    static_cast<void>(record::death(thread, at(address)));
}

TEST_CASE("a block that is being resized is still listed; one whose place was taken meanwhile has no wild sizes")
{
    auto thread = invented::thread();
    auto other = invented::thread();
    const Generation born = next();
    const std::uintptr_t address = fresh_leaf() + 64;
    record::birth(thread, at(address), {200, 200}, kind, 2);
    record::Resize step(thread, at(address));
    CHECK(survivors(born).size() == 1);
    CHECK(survivors(born).bytes() == 200);
    // The allocator shrinks the block where it is, and hands its tail to another thread, before step.done().
    record::birth(other, at(address + 32), {20, 24}, kind, 2);
    for (const Block& block : survivors(born)) CHECK((block.size == 20 || block.size == 200));
    CHECK(survivors(born).bytes() <= 220);
    step.done();
    record::birth(thread, at(address), {24, 24}, kind, 2);
    CHECK(survivors(born).size() == 2);
    CHECK(survivors(born).bytes() == 44);
    static_cast<void>(record::death(thread, at(address)));
    static_cast<void>(record::death(thread, at(address + 32)));
}

TEST_CASE("without overrides heapmark says that it is not in force")
{
    CHECK_FALSE(active());
    const Status now = status();
    CHECK_FALSE(now.malloc_recorded);
    CHECK_FALSE(now.new_recorded);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    CHECK(std::string_view(now.problem).find("malloc is a sanitizer's") != std::string_view::npos);
#else
    CHECK(std::string_view(now.problem).find("link heapmark::heapmark") != std::string_view::npos);
    CHECK(std::string_view(now.problem).find("preload") != std::string_view::npos);
#endif
}
