// SPDX-License-Identifier: BSL-1.0
// Situation: leak counters that replace only operator new (or only malloc) miss the
// less used doors: posix_memalign (returns a status, not a pointer), aligned_alloc,
// aligned new, nothrow new, calloc (two factors), reallocarray.
//
// Right answer: one block is kept from each door: 8 survivors, 1448 bytes
//   posix_memalign 100, aligned_alloc 128, aligned new 192, aligned new[] 320,
//   nothrow new 8, nothrow new[] 50, calloc 10x25 = 250, reallocarray 20x20 = 400
// and after releasing them with the proper partner: none, and no mismatch.
#include "case.h"
#include <cstdlib>
#include <new>

struct alignas(64) Wide { char bytes[192]; };
struct alignas(64) Cell { char bytes[64]; };

int main()
{
    CASE_MARK();
    void* a = nullptr;
    if (posix_memalign(&a, 256, 100) != 0) return 1;
    void* b = std::aligned_alloc(64, 128);
    Wide* c = new Wide;
    Cell* d = new Cell[5];
    double* e = new (std::nothrow) double;
    char* f = new (std::nothrow) char[50];
    void* g = std::calloc(10, 25);
    void* h = reallocarray(nullptr, 20, 20);
    CASE_KEEP(b); CASE_KEEP(c); CASE_KEEP(d); CASE_KEEP(e);
    CASE_KEEP(f); CASE_KEEP(g); CASE_KEEP(h);
    CASE_EXPECT_SURVIVORS(8, 1448);
    CASE_EXPECT_FROM("main", 8, 1448);

    std::free(a);
    std::free(b);
    delete c;
    delete[] d;
    delete e;
    delete[] f;
    std::free(g);
    std::free(h);
    CASE_EXPECT_SURVIVORS(0, 0);
    CASE_EXPECT_MISMATCHES(0);
    return 0;
}
