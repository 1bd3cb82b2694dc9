// SPDX-License-Identifier: BSL-1.0
#include "symbolise/run_sort.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace {

struct Numbered {
    std::size_t key;
    unsigned place; ///< before
    bool operator==(const Numbered&) const = default;
};

bool is_before(const Numbered& a, const Numbered& b) { return a.key < b.key; }

} // namespace

TEST_CASE("whatever the runs, the order is that of std::stable_sort")
{
    std::mt19937 random(1); // the same each time
    for (unsigned round = 0; round < 2000; ++round) {
        std::vector<Numbered> list(random() % 60);
        const std::size_t restarts = random() % 8; // 0: in order
        std::size_t key = 0;
        for (unsigned i = 0; i < list.size(); ++i) {
            key = restarts != 0 && random() % (2 * restarts) == 0 ? random() % 50 : key + random() % 3;
            list[i] = {key, i};
        }
        std::vector<Numbered> expected = list;
        std::stable_sort(expected.begin(), expected.end(), is_before);
        heapmark::symbolise::sort_runs(std::span(list), is_before);
        REQUIRE(list == expected);
    }
}
