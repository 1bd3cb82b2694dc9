// SPDX-License-Identifier: BSL-1.0
// A program that defines mmap itself keeps its own.
#include "expect.hpp"

#include <heapmark/heapmark.hpp>

#include <sys/mman.h>
#include <sys/syscall.h>

static int own_calls = 0;

extern "C" void* mmap(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept
{
    ++own_calls;
    return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, file, offset)); // NOLINT
}

int main()
{
    const int before = own_calls;
    const heapmark::Generation since = heapmark::mark();
    void* const mapped = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(mapped != MAP_FAILED);
    EXPECT_EQ(own_calls, before + 1);
    EXPECT(heapmark::mapped(since).empty());
    EXPECT(munmap(mapped, 4096) == 0); // heapmark's
    return verdict();
}
