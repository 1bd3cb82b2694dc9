// SPDX-License-Identifier: BSL-1.0
// A line that ends in "LEAKS <test>" is where that test must be told of, and no other.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif

#include "../first_uses.hpp"
#include "../lose.hpp"

TEST_CASE("leaks")
{
    lose(std::malloc(10)); // LEAKS leaks
}
TEST_CASE("leaks in a section")
{
    CHECK(true);
    SECTION("that leaks") { lose(new int(1)); } // LEAKS leaks in a section
    SECTION("that does not") { CHECK(true); }
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
    WARN("a message that is long enough not to fit into the string itself");
}
TEST_CASE("throws") { CHECK_THROWS(throw std::runtime_error("a text that is long enough")); }
TEST_CASE("is empty") {}
TEST_CASE("first uses") { CHECK(first_uses() > 0); }
