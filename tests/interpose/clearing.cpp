// SPDX-License-Identifier: BSL-1.0
// clear_new_blocks: memory that is used again is handed out as zeros, by every function, up to its last usable byte.
#include "expect.hpp"

#include <heapmark/heapmark.hpp>

#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>

namespace {

constexpr std::size_t sizes[] = {1, 8, 24, 25, 100, 1000, 1025, 5000, 40'000};

bool is_clear(const void* block, std::size_t from = 0)
{
    const auto* bytes = static_cast<const unsigned char*>(block);
    const std::size_t end = malloc_usable_size(const_cast<void*>(block));
    for (std::size_t i = from; i < end; ++i)
        if (bytes[i] != 0) return false;
    return true;
}

void* filled(void* block)
{
    std::memset(block, 0x5a, malloc_usable_size(block));
    heapmark::escape(block);
    return block;
}

/// Leaves free memory of many sizes that is full of words.
void leave_words()
{
    void* blocks[2000];
    std::size_t count = 0;
    for (void*& block : blocks) block = filled(std::malloc(1 + (count++ * 37) % 9000));
    for (void* block : blocks) std::free(block);
}

template <class Take>
bool all_clear(Take take)
{
    bool clear = true;
    leave_words();
    for (const std::size_t size : sizes) {
        void* block = take(size);
        clear = clear && is_clear(block);
        std::free(filled(block));
    }
    return clear;
}

} // namespace

int main()
{
    EXPECT(!all_clear([](std::size_t size) { return std::malloc(size); })); // or the rest would prove nothing
    heapmark::clear_new_blocks();
    EXPECT(all_clear([](std::size_t size) { return std::malloc(size); }));
    EXPECT(all_clear([](std::size_t size) { return std::calloc(1, size); }));
    EXPECT(all_clear([](std::size_t size) { return std::aligned_alloc(64, (size + 63) / 64 * 64); }));
    EXPECT(all_clear([](std::size_t size) { return realloc(nullptr, size); }));

    leave_words();
    for (const std::size_t size : sizes) {
        void* one = ::operator new(size);
        EXPECT(is_clear(one));
        ::operator delete(filled(one));
        void* many = ::operator new[](size, std::align_val_t{128});
        EXPECT(is_clear(many));
        ::operator delete[](filled(many), std::align_val_t{128});
    }

    leave_words();
    for (std::size_t size = 16; size < 20'000; size *= 3) { // what was there stays, what comes is clear
        void* block = filled(std::malloc(size));
        const std::size_t old = malloc_usable_size(block);
        block = std::realloc(block, size * 3);
        EXPECT(is_clear(block, old));
        const auto* bytes = static_cast<const unsigned char*>(block);
        EXPECT(bytes[0] == 0x5a && bytes[old - 1] == 0x5a);
        std::free(filled(block));
    }

    heapmark::clear_new_blocks(false);
    EXPECT(!all_clear([](std::size_t size) { return std::malloc(size); }));
    return verdict();
}
