// SPDX-License-Identifier: BSL-1.0
// Allocations before main: in the preinit array, in a library's constructors, in the program's own.
#include "both_ways.hpp"

#include <cstring>
#include <vector>

extern "C" {
extern void* library_block;
extern void* library_array;
}

namespace {

heapmark_totals at_first_sight;
void* preinit_block = nullptr;
void* early_block = nullptr;

void preinit(int, char**, char**) { preinit_block = std::malloc(3001); }
// Runs before the constructors of every library, so before heapmark's own when that is preloaded.
[[gnu::section(".preinit_array"), gnu::used]] void (*const preinit_entry)(int, char**, char**) = preinit;

[[gnu::constructor(101)]] void early() { early_block = std::calloc(1, 2001); }

struct InStaticConstructor {
    InStaticConstructor() : numbers(4001) { at_first_sight = totals_since(0); }
    std::vector<char> numbers;
} static_object;

/// What giving `block` back takes off the totals.
void expect_known(void* block, std::uint64_t size, void (*release)(void*))
{
    EXPECT(block != nullptr);
    const heapmark_totals before = totals_since(0);
    release(block);
    const heapmark_totals after = totals_since(0);
    EXPECT_EQ(before.blocks - after.blocks, 1U);
    EXPECT_EQ(before.bytes - after.bytes, size);
}

} // namespace

int main()
{
    EXPECT(at_first_sight.blocks >= 5);
    EXPECT(at_first_sight.bytes >= 1001 + 1002 + 2001 + 3001 + 4001);
    expect_known(preinit_block, 3001, std::free);
    expect_known(early_block, 2001, std::free);
    expect_known(library_block, 1001, std::free);
    library_block = nullptr;
    expect_known(library_array, 1002, [](void* block) { delete[] static_cast<char*>(block); });
    library_array = nullptr;
    const heapmark_totals before = totals_since(0);
    std::vector<char>().swap(static_object.numbers);
    EXPECT_EQ(before.bytes - totals_since(0).bytes, 4001U);
    return verdict();
}
