// SPDX-License-Identifier: BSL-1.0
// Situation: the function under test keeps a function-local static table that is
// filled on the first call and lives until the process ends.  A test that counts
// allocations blames the first test that happens to call it.
//
// Right answer: round 1: some survivors (the table), all reachable, none lost,
// all with tokens() in the stack.  Rounds 2 and 3: no survivors at all.  So:
// "first use only", not a leak.  Running the same test twice tells them apart.
#include "case.h"
#include <map>
#include <string>

CASE_NOINLINE const std::map<std::string, int>& tokens()
{
    static const std::map<std::string, int> table = {
        {"a fairly long identifier one", 1},
        {"a fairly long identifier two", 2},
        {"a fairly long identifier six", 6},
    };
    return table;
}

CASE_NOINLINE int classify(const char* word)
{
    auto it = tokens().find(word);
    return it == tokens().end() ? 0 : it->second;
}

int main()
{
    int sum = 0;

    CASE_MARK();
    sum += classify("a fairly long identifier two");
    CASE_SCRUB_STACK();
    CASE_EXPECT_SURVIVORS(6, CASE_ANY);        // 3 nodes + 3 texts
    CASE_EXPECT_FROM("tokens", 6, CASE_ANY);
    CASE_EXPECT_LOST(0, 0);
    CASE_EXPECT_REACHABLE(6, CASE_ANY);

    for (int round = 2; round <= 3; ++round) {
        CASE_MARK();
        sum += classify("a fairly long identifier six");
        CASE_EXPECT_SURVIVORS(0, 0);
    }
    return sum == 14 ? 0 : 1;
}
