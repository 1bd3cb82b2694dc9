// SPDX-License-Identifier: BSL-1.0
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "leaks.hpp"

#include <string>
#include <utility>

namespace {

/// doctest's test cases are functions without arguments.
template <std::size_t Index>
void test()
{
    seeded::leak(Index);
    CHECK(Index < seeded::count);
}

template <std::size_t... Index>
bool add(std::index_sequence<Index...> /*all*/)
{
    for (auto* one : {&test<Index>...}) {
        static unsigned line = 0; // what tells them apart
        if (line == seeded::count) break;
        doctest::detail::TestCase test(one, __FILE__, ++line, doctest_detail_test_suite_ns::getCurrentTestSuite());
        doctest::detail::regTest(test * "leak");
    }
    return true;
}
const bool added = add(std::make_index_sequence<seeded::count_max>{});

} // namespace
