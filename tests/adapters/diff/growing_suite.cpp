// SPDX-License-Identifier: BSL-1.0
// Tests that allocate what they are told, for two runs to be compared.
#include "amounts.hpp"

#include <gtest/gtest.h>

TEST(Parser, Grows) { allocate(amount("GROWS")); }
TEST(Parser, Shrinks) { allocate(amount("SHRINKS")); }
TEST(Parser, Stays) { allocate(3); }
