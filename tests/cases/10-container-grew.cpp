// SPDX-License-Identifier: BSL-1.0
// Situation: a container that outlives the test grows while the test runs.  The old
// buffer goes, a bigger one comes; a net count says "leak of N bytes here".
//
// Right answer: survivors = 1 block of 4096 bytes (capacity 1024 ints, not the 520
// elements in use), made in add_sample, reachable, not lost.  A second round that
// stays within the capacity: no survivors.  After clear + shrink: none left.
#include "case.h"
#include <vector>

std::vector<int> history;               // lives as long as the process

CASE_NOINLINE void add_sample(int v) { history.push_back(v); }

int main()
{
    history.reserve(512);
    for (int i = 0; i < 512; ++i) add_sample(i);

    CASE_MARK();
    for (int i = 0; i < 8; ++i) add_sample(i);
    CASE_SCRUB_STACK();
    CASE_EXPECT_SURVIVORS(1, 1024 * sizeof(int));
    CASE_EXPECT_FROM("add_sample", 1, 1024 * sizeof(int));
    CASE_EXPECT_REACHABLE(1, 1024 * sizeof(int));
    CASE_EXPECT_LOST(0, 0);

    CASE_MARK();
    for (int i = 0; i < 8; ++i) add_sample(i);
    CASE_EXPECT_SURVIVORS(0, 0);

    history.clear();
    history.shrink_to_fit();
    CASE_EXPECT_SURVIVORS(0, 0);
    return 0;
}
