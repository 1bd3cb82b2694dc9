// SPDX-License-Identifier: BSL-1.0
// Blocks that heapmark never saw born: their release is counted, and nothing else. And blocks that went behind its
// back: their place counts for the next one.
#include "both_ways.hpp"

#include <cstring>

#include <heapmark/heapmark.hpp>

extern "C" {
// glibc's own names of its allocator.
void* __libc_malloc(std::size_t); // NOLINT(bugprone-reserved-identifier)
void __libc_free(void*);          // NOLINT(bugprone-reserved-identifier)
}

int main()
{
    const Since since;
    void* unseen = opaque(__libc_malloc(100));
    EXPECT(since.holds(0, 0));
    free(unseen);
    EXPECT(since.holds(0, 0));
    EXPECT_EQ(heapmark::faults().unknown_frees, 1U);

    unseen = opaque(__libc_malloc(100));
    std::memset(unseen, 0x5A, 100);
    auto* seen = static_cast<unsigned char*>(realloc(unseen, 5000));
    EXPECT(since.holds(1, 5000));
    EXPECT(seen[0] == 0x5A && seen[99] == 0x5A);
    free(seen);
    EXPECT(since.holds(0, 0));
    EXPECT_EQ(heapmark::faults().unknown_frees, 2U);

    unseen = opaque(__libc_malloc(200'000)); // mapped
    free(unseen);
    EXPECT_EQ(heapmark::faults().unknown_frees, 3U);

    const heapmark::Faults faults = heapmark::faults();
    EXPECT(faults.details.empty()); // no fault of the program's
    EXPECT_EQ(faults.double_frees + faults.mismatched_releases, 0U);

    for (int i = 0; i < 100; ++i) {
        void* block = opaque(malloc(64));
        __libc_free(block);
    }
    void* again = opaque(malloc(64)); // glibc gives the same place once more
    EXPECT(since.holds(1, 64));
    free(again);
    EXPECT(since.holds(0, 0));
    return verdict();
}
