// SPDX-License-Identifier: BSL-1.0
#include "leaks.hpp"

#include <heapmark/gtest.hpp>

#include <string>

namespace {

class Leak : public testing::Test {
public:
    explicit Leak(std::size_t index) : index_(index) {}
    void TestBody() override { seeded::leak(index_); }

private:
    std::size_t index_;
};

const bool registered = [] {
    for (std::size_t i = 0; i < seeded::count; ++i)
        testing::RegisterTest("Seeded", ("leak" + std::to_string(i)).c_str(), nullptr, nullptr, __FILE__, __LINE__,
                              [i]() -> testing::Test* { return new Leak(i); });
    return true;
}();

} // namespace
