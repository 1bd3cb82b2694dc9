// SPDX-License-Identifier: BSL-1.0
// Situation: a pointer crosses the border between two allocators.  Here glibc's own
// entry points stand for "the other one": a block taken past the wrapper and
// released through it, and the reverse.  (Real cases: a program with a second
// allocator linked in, blocks taken before the wrapper was there.)
//
// Right answer (glibc only):
//   taken outside, released through the wrapper: no crash, no survivor, counted as
//       one release of an unknown address;
//   taken through the wrapper, released outside: the tool cannot see it go.  When the
//       allocator hands the same address out again, the new block replaces the stale
//       entry: one survivor at that address at most, with the new size (56).
#include "case.h"
#include <cstdlib>

extern "C" void* __libc_malloc(std::size_t);
extern "C" void __libc_free(void*);

CASE_NOINLINE void* outside(std::size_t n) { void* p = __libc_malloc(n); CASE_KEEP(p); return p; }
CASE_NOINLINE void* through(std::size_t n) { void* p = std::malloc(n); CASE_KEEP(p); return p; }

int main()
{
    CASE_MARK();
    std::free(outside(50));
    CASE_EXPECT_SURVIVORS(0, 0);
    CASE_EXPECT_UNKNOWN_FREES(1);

    CASE_MARK();
    void* first = through(50);
    __libc_free(first);
    void* second = through(56);          // same size class: normally the same address
    if (second == first) {
        CASE_EXPECT_SURVIVORS(1, 56);
    }
    std::free(second);
    if (second == first) {
        CASE_EXPECT_SURVIVORS(0, 0);
    }
    CASE_EXPECT_MISMATCHES(0);
    return 0;
}
