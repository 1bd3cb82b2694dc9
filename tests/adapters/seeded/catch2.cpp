// SPDX-License-Identifier: BSL-1.0
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif

#include "leaks.hpp"

TEST_CASE("leak")
{
    const std::size_t index = GENERATE(range(std::size_t{0}, seeded::count));
    seeded::leak(index);
    CHECK(index < seeded::count);
}
