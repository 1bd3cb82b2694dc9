// SPDX-License-Identifier: BSL-1.0
// The shapes of realloc: grown, shrunk, moved, in place, from nothing, to nothing, refused.
#include "doors.hpp"

#include <cerrno>
#include <cstring>

#ifndef HEAPMARK_TEST_PRELOADED
#include <heapmark/heapmark.hpp>
#endif

using namespace doors;

namespace {

void fill(void* block, std::size_t size)
{
    for (std::size_t i = 0; i < size; ++i)
        static_cast<unsigned char*>(block)[i] = static_cast<unsigned char>(i * 7 + 1);
}
bool is_filled(const void* block, std::size_t size)
{
    for (std::size_t i = 0; i < size; ++i)
        if (static_cast<const unsigned char*>(block)[i] != static_cast<unsigned char>(i * 7 + 1)) return false;
    return true;
}

OBTAIN(birth_by_malloc, malloc(size))
extern "C" const char __start_resize_here[];
extern "C" const char __stop_resize_here[];
[[gnu::noinline, gnu::section("resize_here")]] void* resize_here(void* block, std::size_t size)
{
    return opaque(realloc(opaque(block), size));
}
extern "C" const char __start_resize_array_here[];
extern "C" const char __stop_resize_array_here[];
[[gnu::noinline, gnu::section("resize_array_here")]] void* resize_array_here(void* block, std::size_t size)
{
    return opaque(reallocarray(opaque(block), size / 2, 2));
}

void expect_born(const Since& since, void* block, std::size_t size, [[maybe_unused]] heapmark::Api api,
                 [[maybe_unused]] Code where)
{
    EXPECT(since.holds(1, size));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0U);
#ifndef HEAPMARK_TEST_PRELOADED
    const heapmark::Snapshot alive = heapmark::survivors(heapmark::Generation{since.generation()});
    if (!EXPECT_EQ(alive.size(), 1U)) return;
    EXPECT_EQ(alive[0].address, block);
    EXPECT_EQ(alive[0].size, size);
    EXPECT_EQ(alive[0].usable_size, malloc_usable_size(block));
    EXPECT_EQ(alive[0].api, api);
    if (EXPECT(!alive[0].stack.empty())) EXPECT(where.holds_return_address(alive[0].stack[0].address()));
#endif
}

void every_pair_of_sizes(void* (*resize)(void*, std::size_t), heapmark::Api api, Code where)
{
    constexpr std::size_t sizes[] = {2, 16, 24, 40, 56, 58, 100, 1024, 5000, 100'000, 200'000, 3'000'000};
    for (const std::size_t from : sizes)
        for (const std::size_t to : sizes) {
            const Since before;
            void* block = birth_by_malloc(from);
            fill(block, from);
            const Since after; // the resized block is born now
            block = resize(block, to);
            EXPECT(is_filled(block, from < to ? from : to));
            expect_born(after, block, to, api, where);
            EXPECT(before.holds(1, to)); // and the old one is gone
            free(block);
            EXPECT(before.holds(0, 0));
        }
}

void in_place_and_moved()
{
    const Since since;
    void* block = malloc(100);
    void* grown = realloc(opaque(block), malloc_usable_size(block)); // fits where it is
    EXPECT_EQ(grown, block);
    EXPECT(since.holds(1, malloc_usable_size(grown)));
    void* shrunk = realloc(opaque(grown), 30);
    EXPECT_EQ(shrunk, grown);
    EXPECT(since.holds(1, 30));
    void* wall = opaque(malloc(24));
    void* moved = realloc(opaque(shrunk), 9000);
    EXPECT(moved != shrunk);
    EXPECT(since.holds(2, 9024));
    free(moved);
    free(wall);
    EXPECT(since.holds(0, 0));
}

void from_and_to_nothing()
{
    const Since since;
    void* block = realloc(opaque(static_cast<void*>(nullptr)), 0);
    EXPECT(block != nullptr);
    EXPECT(since.holds(1, 0));
    EXPECT_EQ(realloc(opaque(block), 0), static_cast<void*>(nullptr)); // glibc: freed
    EXPECT(since.holds(0, 0));
    EXPECT_EQ(reallocarray(opaque(malloc(10)), 0, 8), static_cast<void*>(nullptr));
    EXPECT_EQ(reallocarray(opaque(malloc(10)), 8, 0), static_cast<void*>(nullptr));
    EXPECT(since.holds(0, 0));
}

void refused()
{
    const Since since;
    void* block = birth_by_malloc(200);
    fill(block, 200);
    for (const std::size_t size : {std::size_t{1} << 62, ~std::size_t{0}, ~std::size_t{0} / 2 - 100}) {
        errno = 0;
        EXPECT_EQ(resize_here(block, size), static_cast<void*>(nullptr));
        EXPECT_EQ(errno, ENOMEM);
    }
    expect_born(since, block, 200, heapmark::Api::malloc, {__start_birth_by_malloc, __stop_birth_by_malloc});
    EXPECT(is_filled(block, 200));
    free(block);
    EXPECT(since.holds(0, 0));
}

/// Whatever was aligned more than malloc does may lose that.
void of_aligned_blocks()
{
    const Since since;
    for (const Obtain& obtain : obtains) {
        if (obtain.family != Family::c) continue;
        void* block = obtain.call(300);
        fill(block, 300);
        block = resize_here(block, 6000);
        EXPECT(is_filled(block, 300));
        expect_born(since, block, 6000, heapmark::Api::realloc, {__start_resize_here, __stop_resize_here});
        free(block);
    }
    EXPECT(since.holds(0, 0));
}

} // namespace

int main()
{
    every_pair_of_sizes(resize_here, heapmark::Api::realloc, {__start_resize_here, __stop_resize_here});
    every_pair_of_sizes(resize_array_here, heapmark::Api::reallocarray,
                        {__start_resize_array_here, __stop_resize_array_here});
    in_place_and_moved();
    from_and_to_nothing();
    refused();
    of_aligned_blocks();
    return verdict();
}
