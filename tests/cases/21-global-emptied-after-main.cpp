// SPDX-License-Identifier: BSL-1.0
// Situation: a global string and a global list own memory.  Their destructors run after
// main; a check that runs at the end of main (or from an exit handler registered too
// late) reports them.
//
// Right answer: at the end of main: 3 survivors (text, 2 list nodes), reachable, none
// lost.  In a check that runs after all static destructors: none.
#include "case.h"
#include <list>
#include <string>

std::string profile;
std::list<int> pending;

CASE_NOINLINE void load_profile()
{
    profile.assign(200, 'p');
    pending.push_back(1);
    pending.push_back(2);
}

int main()
{
    CASE_MARK();
    load_profile();
    CASE_SCRUB_STACK();
    CASE_EXPECT_SURVIVORS(3, 201 + 2 * 24);      // libstdc++, 64 bit
    CASE_EXPECT_FROM("load_profile", 3, 201 + 2 * 24);
    CASE_EXPECT_REACHABLE(3, CASE_ANY);
    CASE_EXPECT_LOST(0, 0);
    return 0;                                    // final check after destructors: 0 survivors
}
