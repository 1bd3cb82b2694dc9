// SPDX-License-Identifier: BSL-1.0
// A line that ends in "LEAKS <test>" is where that test must be told of, and no other. Built with the framework as a
// library, and with the framework included. With "-- clean" the global fixture leaks nothing.
#define BOOST_TEST_MODULE heapmark_adapter
#ifdef HEAPMARK_TEST_INCLUDED
#include <boost/test/included/unit_test.hpp>
#else
#include <boost/test/unit_test.hpp>
#endif
#include <boost/test/data/test_case.hpp>

#include "../first_uses.hpp"
#include "../lose.hpp"

#include <string>

namespace {

const std::string long_text = "a text that is long enough not to fit into the string itself";

struct Kept {
    std::string text = long_text;
    int* number = new int(1);
    Kept() = default;
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
    ~Kept() { delete number; }
};
struct Leaky {
    ~Leaky() { lose(std::malloc(30)); } // LEAKS leaks_in_its_fixture
};
void leak_in_suite_fixture()
{
    lose(new short(1)); // LEAKS suite has_a_fixture
}

} // namespace

struct LeakyGlobally {
    void setup() { text = long_text; }
    void teardown()
    {
        if (boost::unit_test::framework::master_test_suite().argc > 1) return; // told to be clean
        lose(new char[20]);                                                    // LEAKS the test module
    }
    std::string text;
};
BOOST_TEST_GLOBAL_FIXTURE(LeakyGlobally);

BOOST_AUTO_TEST_CASE(leaks)
{
    lose(std::malloc(10)); // LEAKS leaks
}
BOOST_AUTO_TEST_CASE(fails_too)
{
    lose(new long(1)); // LEAKS fails_too
    BOOST_REQUIRE(1 == 2);
}
BOOST_AUTO_TEST_CASE(throws_out)
{
    lose(new long(1)); // LEAKS throws_out
    throw std::runtime_error(long_text);
}
BOOST_FIXTURE_TEST_CASE(leaks_in_its_fixture, Leaky) { BOOST_TEST(true); }
BOOST_FIXTURE_TEST_CASE(has_a_clean_fixture, Kept) { BOOST_TEST(text == long_text); }
BOOST_AUTO_TEST_SUITE(has_a_fixture, *boost::unit_test::fixture(&leak_in_suite_fixture))
BOOST_AUTO_TEST_CASE(leaks)
{
    lose(new int(1)); // LEAKS has_a_fixture/leaks
}
BOOST_AUTO_TEST_CASE(is_clean, *boost::unit_test::fixture<Kept>()) { BOOST_TEST(true); }
BOOST_AUTO_TEST_SUITE_END()
BOOST_DATA_TEST_CASE(has_data, boost::unit_test::data::make({1, 2}))
{
    BOOST_TEST_CONTEXT(long_text << sample)
    {
        BOOST_TEST_INFO(long_text);
        BOOST_TEST(sample > 0);
    }
}
BOOST_AUTO_TEST_CASE(is_clean)
{
    BOOST_TEST_MESSAGE(long_text);
    BOOST_TEST_CHECKPOINT(long_text);
    BOOST_TEST((long_text + "!").size() > long_text.size(), long_text);
    BOOST_WARN_MESSAGE(false, long_text);
}
BOOST_AUTO_TEST_CASE(throws) { BOOST_CHECK_THROW(throw std::runtime_error(long_text), std::runtime_error); }
BOOST_AUTO_TEST_CASE(is_empty) {}
BOOST_AUTO_TEST_CASE(uses_firsts) { BOOST_TEST(first_uses() > 0); }
