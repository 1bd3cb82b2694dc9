// SPDX-License-Identifier: BSL-1.0
// The same for doctest.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "amounts.hpp"

#include <doctest/doctest.h>

TEST_CASE("Parser <grows> & \"more\"") { allocate(amount("GROWS")); }
TEST_CASE("Parser shrinks") { allocate(amount("SHRINKS")); }
TEST_CASE("Parser stays") { allocate(3); }
