// SPDX-License-Identifier: BSL-1.0
// Situation: realloc in all its shapes: as malloc, growing, shrinking, failing,
// to zero, and of a block older than the mark.  Tools have missed realloc(NULL,n),
// counted old and new block both, or lost the block when realloc failed.
//
// Right answer (glibc, where realloc(p, 0) releases p):
//   realloc(NULL, 123)             1 survivor, 123 bytes
//   grown to 70000, then cut to 50 still 1 survivor, 50 bytes; never two
//   failed realloc                 the block stays as it was: 1 survivor, 50 bytes
//   realloc(p, 0)                  no survivor
//   old block resized after a mark the address the program holds is live exactly
//       once.  Whether it now counts as new is for the tool to say, but it must be
//       the same whether the allocator moved it or not; here: it counts as new.
#include "case.h"
#include <cstdint>
#include <cstdlib>

CASE_NOINLINE void* resize(void* p, std::size_t n)
{
    void* q = std::realloc(p, n);
    CASE_KEEP(q);
    return q;
}

int main()
{
    void* old_in_place = resize(nullptr, 400);
    void* old_moved = resize(nullptr, 400);

    CASE_MARK();
    void* p = resize(nullptr, 123);
    CASE_EXPECT_SURVIVORS(1, 123);
    p = resize(p, 70000);
    CASE_EXPECT_SURVIVORS(1, 70000);
    p = resize(p, 50);
    CASE_EXPECT_SURVIVORS(1, 50);
    volatile std::size_t absurd = SIZE_MAX / 2 - 64;
    if (resize(p, absurd) != nullptr) return 1;
    CASE_EXPECT_SURVIVORS(1, 50);
    CASE_EXPECT_REACHABLE(1, 50);
    if (resize(p, 0) != nullptr) return 1;
    CASE_EXPECT_SURVIVORS(0, 0);

    CASE_MARK();
    old_in_place = resize(old_in_place, 390);
    old_moved = resize(old_moved, 200000);
    CASE_EXPECT_SURVIVORS(2, 200390);
    CASE_EXPECT_FROM("resize", 2, 200390);
    CASE_EXPECT_LOST(0, 0);
    std::free(old_in_place);
    std::free(old_moved);
    CASE_EXPECT_SURVIVORS(0, 0);
    return 0;
}
