// SPDX-License-Identifier: BSL-1.0
// 10,000 tests for Google Test that do next to nothing: what a test costs by itself.
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

class Tiny : public testing::Test {
public:
    explicit Tiny(int number) : number_(number) {}
    void TestBody() override
    {
        const std::vector<std::string> words(3, "a text that is long enough not to fit into the string itself");
        EXPECT_EQ(words[static_cast<std::size_t>(number_) % 3].size(), 60U);
    }

private:
    int number_;
};

const bool registered = [] {
    for (int i = 0; i < 10'000; ++i)
        testing::RegisterTest(("Suite" + std::to_string(i / 100)).c_str(), ("test" + std::to_string(i)).c_str(),
                              nullptr, nullptr, __FILE__, __LINE__, [i]() -> testing::Test* { return new Tiny(i); });
    return true;
}();

} // namespace
