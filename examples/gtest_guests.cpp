// SPDX-License-Identifier: BSL-1.0
// An ordinary suite for Google Test. It is linked with heapmark::gtest_main, and so each test says what it lost.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

std::vector<std::string> guest_book;

char* copy_of(const std::string& name)
{
    char* copy = new char[name.size() + 1];
    std::memcpy(copy, name.c_str(), name.size() + 1);
    return copy;
}

TEST(Guests, AreGreeted)
{
    EXPECT_STREQ(copy_of("Grace"), "Grace");
}

TEST(Guests, AreWrittenDown)
{
    guest_book.push_back("Barbara Liskov, and all others who have come");
    EXPECT_EQ(guest_book.size(), 1U);
}

} // namespace
