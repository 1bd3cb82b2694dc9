// SPDX-License-Identifier: BSL-1.0
#include "own_main.hpp"

#ifdef HEAPMARK_TEST_BARE
void before_tests() {}
#else
#include <heapmark/gtest.hpp>

void before_tests()
{
    static bool installed = false;
    if (!installed) heapmark::gtest::install();
    installed = true;
}
#endif
