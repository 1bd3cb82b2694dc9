// SPDX-License-Identifier: BSL-1.0
// Registers the scenarios with Google Test: <library>.<name>_clean and <library>.<name>_leaks.
#include "scenario.hpp"

#include <gtest/gtest.h>

#include <string>

namespace real {

namespace {

class Test : public testing::Test {
public:
    Test(void (*run)(bool), bool leaks) : run_(run), leaks_(leaks) {}
    void TestBody() override { run_(leaks_); }

private:
    void (*run_)(bool);
    bool leaks_;
};

} // namespace

void expect(bool right, const char* what) { EXPECT_TRUE(right) << what; }

void* seen(void* block) { return block; }

bool add(const char* library, const char* name, void (*run)(bool))
{
    for (const bool leaks : {false, true})
        testing::RegisterTest(library, (std::string(name) + (leaks ? "_leaks" : "_clean")).c_str(), nullptr, nullptr,
                              __FILE__, __LINE__, [run, leaks]() -> testing::Test* { return new Test(run, leaks); });
    return true;
}

} // namespace real
