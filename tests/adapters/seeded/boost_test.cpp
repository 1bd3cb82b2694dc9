// SPDX-License-Identifier: BSL-1.0
#define BOOST_TEST_MODULE seeded
#ifdef HEAPMARK_TEST_INCLUDED
#include <boost/test/included/unit_test.hpp>
#else
#include <boost/test/unit_test.hpp>
#endif
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include "leaks.hpp"

BOOST_DATA_TEST_CASE(leak, boost::unit_test::data::xrange(seeded::count))
{
    seeded::leak(sample);
    BOOST_TEST(sample < seeded::count);
}
