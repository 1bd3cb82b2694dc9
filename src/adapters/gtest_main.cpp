// SPDX-License-Identifier: BSL-1.0
// main() of heapmark::gtest_main. Compiled in the user's build, with the Google Test that is there.
#include <heapmark/gtest.hpp>

int main(int argc, char** argv)
{
    ::testing::InitGoogleTest(&argc, argv);
    heapmark::gtest::install();
    return RUN_ALL_TESTS();
}
