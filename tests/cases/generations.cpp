// SPDX-License-Identifier: BSL-1.0
// The one word of case.h that none of the cases uses: survivors of one generation, however many marks later. Blocks
// are kept, moved between generations by realloc, and released out of order.
#include "case.h"
#include <cstdlib>

CASE_NOINLINE void* keep(std::size_t n)
{
    void* p = std::malloc(n);
    CASE_KEEP(p);
    return p;
}

int main()
{
    CASE_MARK();
    void* a = keep(11);
    void* b = keep(13);
    CASE_MARK();
    void* c = keep(17);
    CASE_MARK();
    CASE_MARK();
    void* d = keep(19);
    CASE_EXPECT_GENERATION(1, 2, 24);
    CASE_EXPECT_GENERATION(2, 1, 17);
    CASE_EXPECT_GENERATION(3, 0, 0);
    CASE_EXPECT_GENERATION(4, 1, 19);

    std::free(a);
    c = std::realloc(c, 23);
    CASE_KEEP(c);
    CASE_EXPECT_GENERATION(1, 1, 13);
    CASE_EXPECT_GENERATION(2, 0, 0);
    CASE_EXPECT_GENERATION(3, 0, 0);
    CASE_EXPECT_GENERATION(4, 2, 42);
    CASE_EXPECT_SURVIVORS(2, 42);

    std::free(b);
    std::free(c);
    std::free(d);
    for (unsigned n = 1; n <= 4; ++n) CASE_EXPECT_GENERATION(n, 0, 0);
    return 0;
}
