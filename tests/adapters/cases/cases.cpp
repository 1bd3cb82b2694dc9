// SPDX-License-Identifier: BSL-1.0
// The cases of tests/cases, as the tests of a suite: each is built with its main under another name.
#include "../seeded/leaks.hpp"

#include <cstdio>

// Those that lose memory come first: others leave addresses of freed blocks in variables, and a block that comes to lie
// there is held by them.
#define CASES(X) X(01) X(02) X(06) X(15) X(16) X(17) X(03) X(10) X(11) X(13) X(18) X(19) X(20) X(21)

#define DECLARE(number) int case_##number();
CASES(DECLARE)

namespace seeded {

namespace {
struct Case {
    const char* name;
    int (*main)();
};
#define ENTRY(number) {#number, &case_##number},
constexpr Case cases[] = {CASES(ENTRY)};
} // namespace

const std::size_t count = sizeof cases / sizeof cases[0];
static_assert(sizeof cases / sizeof cases[0] <= count_max);

void leak(std::size_t index)
{
    std::printf("case %s\n", cases[index].name);
    std::fflush(stdout);
    if (cases[index].main() != 0) std::printf("the case failed\n");
}

} // namespace seeded
