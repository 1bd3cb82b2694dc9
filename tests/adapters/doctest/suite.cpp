// SPDX-License-Identifier: BSL-1.0
// A line that ends in "LEAKS <test>" is where that test must be told of, and no other.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../first_uses.hpp"
#include "../lose.hpp"

TEST_CASE("leaks")
{
    lose(std::malloc(10)); // LEAKS leaks
}
TEST_CASE("leaks in a subcase")
{
    CHECK(true);
    SUBCASE("that leaks") { lose(new int(1)); } // LEAKS leaks in a subcase
    SUBCASE("that does not") { CHECK(true); }
}
TEST_CASE("fails, too")
{
    lose(new long(1)); // LEAKS fails, too
    CHECK(1 == 2);
}
TEST_CASE("is clean")
{
    INFO("a text that is long enough not to fit into the string itself");
    CHECK(std::string("a text that is long enough not to fit into the string itself").size() > 10);
    MESSAGE("a message that is long enough not to fit into the string itself");
}
TEST_CASE("throws") { CHECK_THROWS(throw std::runtime_error("a text that is long enough")); }
TEST_CASE("is empty") {}
TEST_CASE("first uses") { CHECK(first_uses() > 0); }
