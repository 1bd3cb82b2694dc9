// SPDX-License-Identifier: BSL-1.0
// A user's test at C++17: fails unless its heap is tracked to the byte.
#include <heapmark/heapmark.h>
#include <heapmark/heapmark.hpp>
#include <heapmark/report.hpp>

#include <cstdio>
#include <cstdlib>
#include <iostream>

int main()
{
    if (!heapmark::active()) {
        std::fputs("the overrides are not in force\n", stderr);
        return 1;
    }
    const heapmark::Generation generation = heapmark::mark("consumer");
    char* kept = new char[100];
    heapmark::escape(kept);
    void* freed = std::malloc(50);
    heapmark::escape(freed);
    std::free(freed);

    const heapmark::Snapshot snapshot = heapmark::survivors(generation);
    std::cout << snapshot;
    const heapmark_totals totals = heapmark_counts(static_cast<heapmark_generation>(generation));
    const bool right = snapshot.size() == 1 && snapshot.bytes() == 100 && snapshot[0].address == kept &&
                       snapshot[0].api == heapmark::Api::operator_new_array && totals.blocks == 1 &&
                       totals.bytes == 100;
    delete[] kept;
    return right && heapmark::counts(generation).blocks == 0 ? 0 : 1;
}
