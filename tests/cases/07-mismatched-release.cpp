// SPDX-License-Identifier: BSL-1.0
// Situation: memory released by the wrong function: new[] by delete, malloc by
// delete, new by free.  (Undefined by the language; on this platform all of them
// reach the same allocator, so programs get away with it.)
//
// Right answer: no survivors: the blocks are gone whichever door they left by, and
// must not stay in the books as leaks.  A tool that watches for it reports 3
// mismatches, each with the stack of the allocation and of the release.  No crash.
#include "case.h"
#include <cstdlib>

CASE_NOINLINE char* from_new_array() { char* p = new char[40]; CASE_KEEP(p); return p; }
CASE_NOINLINE char* from_new()       { char* p = new char;     CASE_KEEP(p); return p; }
CASE_NOINLINE char* from_malloc()
{
    char* p = static_cast<char*>(std::malloc(24));
    CASE_KEEP(p);
    return p;
}

#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
CASE_NOINLINE void plain_delete(char* p) { delete p; }
CASE_NOINLINE void plain_free(char* p)   { std::free(p); }

int main()
{
    CASE_MARK();
    plain_delete(from_new_array());
    plain_delete(from_malloc());
    plain_free(from_new());
    CASE_EXPECT_SURVIVORS(0, 0);
    CASE_EXPECT_MISMATCHES(3);

    CASE_MARK();
    delete[] from_new_array();
    delete from_new();
    std::free(from_malloc());
    CASE_EXPECT_SURVIVORS(0, 0);
    CASE_EXPECT_MISMATCHES(0);
    return 0;
}
