// SPDX-License-Identifier: BSL-1.0
// The set of mappings against a table that knows each page by itself, with random operations.
#include "platform/pages.hpp"
#include "record/mapping_set.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

using namespace heapmark::record;
using heapmark::Api;

namespace {

constexpr std::uintptr_t page = 4096;
constexpr std::size_t pages = 96;
constexpr std::uintptr_t base = 0x7000'0000'0000;

constexpr std::uintptr_t at(std::size_t index) { return base + index * page; }

Mapping mapping(std::uint64_t number, std::size_t first, std::size_t last, std::size_t unasked = 0, Api api = Api::mmap)
{
    Mapping made{at(first), at(last), at(last) - unasked, {}};
    made.birth.number = number;
    made.birth.address = made.begin;
    made.birth.api = api;
    return made;
}

/// Each page: whose it is.
struct Model {
    std::array<std::uint64_t, pages> births{};
    std::vector<Mapping> mappings{Mapping{}}; ///< by number, as they were born

    [[nodiscard]] std::vector<Mapping> pieces() const
    {
        std::vector<Mapping> runs;
        for (std::size_t i = 0; i < pages; ++i) {
            if (births[i] == 0) continue;
            if (i > 0 && births[i] == births[i - 1])
                runs.back().end = at(i + 1);
            else {
                runs.push_back(mappings[births[i]]);
                runs.back().begin = at(i);
                runs.back().end = at(i + 1);
            }
        }
        return runs;
    }
};

void check_same(const MappingSet& set, const Model& model)
{
    const std::vector<Mapping> expected = model.pieces();
    REQUIRE(set.size() == expected.size());
    std::size_t index = 0;
    bool same = true;
    set.visit([&](const Mapping& piece) {
        const Mapping& wanted = expected[index++];
        same = same && piece.begin == wanted.begin && piece.end == wanted.end &&
               piece.requested_end == wanted.requested_end && piece.birth.number == wanted.birth.number &&
               piece.birth.address == wanted.birth.address && piece.birth.api == wanted.birth.api;
    });
    REQUIRE(same);
    for (std::size_t i = 0; i < pages; ++i) {
        const Mapping* found = set.find(at(i) + page / 2);
        REQUIRE((found == nullptr ? 0 : found->birth.number) == model.births[i]);
    }
}

constexpr auto all_mapped = [](const Mapping& piece, auto keep) { keep(piece.begin, piece.end); };

} // namespace

TEST_CASE("random operations give what a table of pages gives")
{
    for (std::uint32_t seed = 1; seed <= 200; ++seed) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        const auto below = [&](std::size_t limit) {
            return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
        };
        const auto set = std::make_unique<MappingSet>();
        Model model;
        for (int step = 0; step < 200; ++step) {
            const std::size_t first = below(pages);
            const std::size_t last = first + 1 + below(std::min<std::size_t>(pages - first, 1 + below(pages)));
            MappingSet::Pieces taken;
            switch (below(5)) {
            case 0:
            case 1: { // mmap
                const std::uint64_t number = model.mappings.size();
                model.mappings.push_back(
                    mapping(number, first, last, below(page), below(2) == 0 ? Api::mmap : Api::shmat));
                set->put(model.mappings.back());
                std::fill(model.births.begin() + static_cast<std::ptrdiff_t>(first),
                          model.births.begin() + static_cast<std::ptrdiff_t>(last), number);
                break;
            }
            case 2: // munmap
                set->take(at(first), at(last), taken);
                set->forget(taken);
                std::fill(model.births.begin() + static_cast<std::ptrdiff_t>(first),
                          model.births.begin() + static_cast<std::ptrdiff_t>(last), 0);
                break;
            case 3: // munmap that fails
                set->take(at(first), at(last), taken);
                for (std::size_t i = first; i < last; ++i) REQUIRE(set->find(at(i)) == nullptr);
                set->put_back(taken, all_mapped);
                break;
            default: { // shmdt
                const std::uint64_t number = model.births[first];
                const std::uintptr_t address = model.mappings[number].birth.address;
                const bool is_segment = number != 0 && model.mappings[number].birth.api == Api::shmat;
                std::uint64_t found = 0; // the lowest piece of a segment born there, which may not be `number`
                for (std::size_t i = 0; i < pages && is_segment && found == 0; ++i)
                    if (const std::uint64_t other = model.births[i]; other != 0 &&
                                                                     model.mappings[other].birth.api == Api::shmat &&
                                                                     model.mappings[other].birth.address == address)
                        found = other;
                if (!is_segment) break;
                set->take_birth_at(
                    address, [](const MappingBirth& birth) { return birth.api == Api::shmat; }, taken);
                set->forget(taken);
                std::replace(model.births.begin(), model.births.end(), found, std::uint64_t{0});
            }
            }
            check_same(*set, model);
        }
        CHECK(set->unrecorded_count() == 0);
    }
}

TEST_CASE("what was unmapped all the same is not put back")
{
    const auto set = std::make_unique<MappingSet>();
    set->put(mapping(1, 0, 10));
    set->put(mapping(2, 10, 20));
    MappingSet::Pieces taken;
    set->take(at(5), at(15), taken);
    set->put_back(taken, [](const Mapping& piece, auto keep) {
        if (piece.begin < at(10)) return;
        keep(at(10), at(12));
        keep(at(13), at(14));
    });
    CHECK(set->size() == 4);
    CHECK(set->find(at(4))->end == at(5));
    CHECK(set->find(at(5)) == nullptr);
    CHECK(set->find(at(10))->end == at(12));
    CHECK(set->find(at(12)) == nullptr);
    CHECK(set->find(at(13))->end == at(14));
    CHECK(set->find(at(14)) == nullptr);
    CHECK(set->find(at(15))->birth.number == 2);
}

TEST_CASE("what came to lie there meanwhile stays")
{
    const auto set = std::make_unique<MappingSet>();
    set->put(mapping(1, 0, 10));
    MappingSet::Pieces taken;
    set->take(at(2), at(8), taken);
    set->put(mapping(2, 7, 9));
    set->put_back(taken, all_mapped);
    CHECK(set->find(at(1))->birth.number == 1);
    CHECK(set->find(at(3)) == nullptr);
    CHECK(set->find(at(7))->birth.number == 2);
    CHECK(set->find(at(9))->birth.number == 1);
    CHECK(set->size() == 3);
}

TEST_CASE("requested bytes of pieces")
{
    const auto set = std::make_unique<MappingSet>();
    set->put(mapping(1, 0, 3, page - 100)); // two pages and 100 bytes
    CHECK(set->find(at(0))->requested_bytes() == 2 * page + 100);
    MappingSet::Pieces taken;
    set->take(at(1), at(2), taken);
    set->forget(taken);
    CHECK(set->find(at(0))->requested_bytes() == page);
    CHECK(set->find(at(2))->requested_bytes() == 100);
}

TEST_CASE("nothing is taken of an empty range")
{
    const auto set = std::make_unique<MappingSet>();
    set->put(mapping(1, 0, 3));
    MappingSet::Pieces taken;
    set->take(at(1), at(1), taken);
    CHECK(taken.empty());
    CHECK(set->find(at(1))->end == at(3));
}

TEST_CASE("without memory mappings are missing, and counted")
{
    const auto set = std::make_unique<MappingSet>();
    heapmark::platform::limit_page_requests_for_test(0);
    std::uint64_t number = 0;
    while (set->unrecorded_count() < 10) { // what memory is left lasts for a while
        set->put(mapping(number + 1, 2 * number, 2 * number + 1));
        ++number;
    }
    heapmark::platform::limit_page_requests_for_test(-1);
    CHECK(set->size() == number - 10);
    set->put(mapping(number + 1, 2 * number, 2 * number + 1));
    CHECK(set->size() == number - 9);
}
