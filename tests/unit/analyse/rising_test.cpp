// SPDX-License-Identifier: BSL-1.0
// What counts as rising, on invented series.
#include "analyse/rising.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

using heapmark::Counts;
using heapmark::analyse::Rise;
using heapmark::analyse::rise_of;

namespace {

template <class Figure>
Rise rise(std::size_t readings, Figure blocks)
{
    std::vector<Counts> series;
    for (std::size_t i = 0; i < readings; ++i) {
        const auto count = static_cast<std::uint64_t>(blocks(i));
        series.push_back({count, count * 100});
    }
    const Rise by_bytes = rise_of(series, &Counts::bytes);
    const Rise by_blocks = rise_of(series, &Counts::blocks);
    CHECK(by_bytes.rises == by_blocks.rises); // blocks of one size
    CHECK(by_bytes.per_reading == doctest::Approx(100 * by_blocks.per_reading));
    return by_blocks;
}

} // namespace

TEST_CASE("steady leaks rise, however slow")
{
    const Rise each = rise(40, [](std::size_t i) { return i + 1; });
    CHECK(each.rises);
    CHECK(each.never_falls);
    CHECK(each.per_reading == doctest::Approx(1));
    CHECK(rise(40, [](std::size_t i) { return i / 10; }).rises);
    CHECK(rise(500, [](std::size_t i) { return 1'000'000 + i / 100; }).rises);
    CHECK_FALSE(rise(40, [](std::size_t i) { return i / 11; }).rises); // not one a quarter
    CHECK_FALSE(rise(7, [](std::size_t i) { return i; }).rises);
    CHECK(rise(8, [](std::size_t i) { return i; }).rises);
}

TEST_CASE("what stays, falls, or comes and goes does not")
{
    CHECK_FALSE(rise(40, [](std::size_t) { return 7; }).rises);
    CHECK_FALSE(rise(40, [](std::size_t i) { return 100 - i; }).rises);
    CHECK_FALSE(rise(40, [](std::size_t i) { return i % 10; }).rises);
    CHECK_FALSE(rise(40, [](std::size_t i) { return i < 20 ? i : 20; }).rises);
}

TEST_CASE("noise above a leak: the least counts, and the median of slopes")
{
    std::mt19937 random(1);
    const Rise noisy = rise(400, [&](std::size_t i) { return i / 10 + random() % 30; });
    CHECK(noisy.rises);
    CHECK_FALSE(noisy.never_falls);
    CHECK(noisy.per_reading == doctest::Approx(0.1).epsilon(0.15));
    int wrong = 0;
    for (int run = 0; run < 500; ++run) wrong += rise(100, [&](std::size_t) { return 50 + random() % 30000; }).rises;
    CHECK(wrong == 0);
}

TEST_CASE("a cache that fills ever more slowly")
{
    const auto filled = [](double rate) {
        return [rate](std::size_t i) { return 1000 * (1 - std::exp(-rate * static_cast<double>(i))); };
    };
    CHECK_FALSE(rise(100, filled(0.05)).rises);
    CHECK_FALSE(rise(400, filled(0.01)).rises);
    CHECK(rise(40, filled(0.005)).rises); // no sign of an end yet
    // A leak goes on when the cache beside it is full.
    CHECK(rise(400, [&](std::size_t i) { return filled(0.1)(i) + static_cast<double>(i); }).rises);
}

TEST_CASE("long series are thinned out for the slope")
{
    CHECK(rise(512, [](std::size_t i) { return 3 * i; }).per_reading == doctest::Approx(3));
    CHECK(rise(300, [](std::size_t i) { return 3 * i; }).per_reading == doctest::Approx(3));
}
