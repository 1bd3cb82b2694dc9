// SPDX-License-Identifier: BSL-1.0
// main() of heapmark::gtest_main. Compiled in the user's build, with the Google Test that is there.
#include <heapmark/gtest.hpp>

// Weak: there when the program is linked with Google Mock, whose flags it takes beside Google Test's.
namespace testing {
[[gnu::weak]] void InitGoogleMock(int* argc, char** argv);
}

int main(int argc, char** argv)
{
    if (&::testing::InitGoogleMock != nullptr)
        ::testing::InitGoogleMock(&argc, argv);
    else
        ::testing::InitGoogleTest(&argc, argv);
    heapmark::gtest::install();
    return RUN_ALL_TESTS();
}
