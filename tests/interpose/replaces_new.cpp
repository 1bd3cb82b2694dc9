// SPDX-License-Identifier: BSL-1.0
// A program that replaces operators itself: it links and runs, what it calls is tracked, the forms that the standard
// defines in terms of those reach it, and nothing is taken for a mismatch.
// Built with REPLACES_ALL 0: operator new(size_t) and operator delete(void*) alone; with 1: every base form.
#include "doors.hpp"

#ifndef HEAPMARK_TEST_PRELOADED
#include <heapmark/heapmark.hpp>
#endif

#include <string>
#include <vector>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wsized-deallocation" // that form is left to heapmark on purpose
#endif

namespace {

int news = 0;
int deletes = 0;
int array_news = 0;
int array_deletes = 0;
int aligned_news = 0;
int aligned_deletes = 0;

constexpr std::size_t header = 16; // so that a block of theirs handed to anybody else would be noticed

[[gnu::noinline]] void* allocate(std::size_t size)
{
    auto* memory = static_cast<char*>(std::malloc(size + header));
    if (memory == nullptr) throw std::bad_alloc();
    return memory + header;
}
[[gnu::noinline]] void give_back(void* block)
{
    if (block != nullptr) std::free(opaque(static_cast<char*>(block) - header));
}

} // namespace

void* operator new(std::size_t size)
{
    ++news;
    return allocate(size);
}
void operator delete(void* block) noexcept
{
    ++deletes;
    give_back(block);
}

#if REPLACES_ALL
void* operator new[](std::size_t size)
{
    ++array_news;
    return allocate(size);
}
void operator delete[](void* block) noexcept
{
    ++array_deletes;
    give_back(block);
}
void* operator new(std::size_t size, std::align_val_t)
{
    ++aligned_news;
    return aligned_alloc(doors::alignment, size);
}
void operator delete(void* block, std::align_val_t) noexcept
{
    ++aligned_deletes;
    std::free(block);
}
#endif

using namespace doors;

namespace {

void every_pair()
{
    for (const Obtain& obtain : obtains)
        for (const Release& release : releases) {
            if (judge(obtain, release) != Pair::right) continue;
            const bool theirs = obtain.family == Family::single || obtain.family == Family::array;
            const Since since;
            void* block = obtain.call(128);
            if (!EXPECT(since.holds(1, 128 + (theirs ? header : 0))))
                dprintf(STDERR_FILENO, "  in %s, %s\n", obtain.name, release.name);
            release.call(block, 128);
            if (!EXPECT(since.holds(0, 0))) dprintf(STDERR_FILENO, "  in %s, %s\n", obtain.name, release.name);
        }
}

int pairs_of(Family family, bool obtains_too)
{
    int pairs = 0;
    for (const Obtain& obtain : obtains)
        for (const Release& release : releases)
            if (obtain.family == family && release.family == family) ++pairs;
    return obtains_too ? pairs : 0;
}

} // namespace

int main()
{
    every_pair();
    const int singles = pairs_of(Family::single, true);
    const int arrays = pairs_of(Family::array, true);
    const int aligned = pairs_of(Family::aligned_single, true) + pairs_of(Family::aligned_array, true);
#if REPLACES_ALL
    EXPECT_EQ(news, singles);
    EXPECT_EQ(deletes, singles);
    EXPECT_EQ(array_news, arrays);
    EXPECT_EQ(array_deletes, arrays);
    EXPECT_EQ(aligned_news, aligned);
    EXPECT_EQ(aligned_deletes, aligned);
#else
    EXPECT_EQ(news, singles + arrays);
    EXPECT_EQ(deletes, singles + arrays);
    EXPECT_EQ(array_news + array_deletes + aligned_news + aligned_deletes, 0);
    EXPECT(aligned > 0);
#endif

    const Since since;
    const int before = news;
    {
        std::vector<std::string> strings(20, std::string(200, 'x')); // the C++ library's calls reach it too
        EXPECT(news >= before + 21);
        EXPECT(since.blocks() >= 21);
    }
    EXPECT(since.holds(0, 0));
    EXPECT(is_active());
#ifndef HEAPMARK_TEST_PRELOADED
    const heapmark::Faults faults = heapmark::faults();
    EXPECT_EQ(faults.mismatched_releases + faults.double_frees + faults.unknown_frees, 0U);
#endif
    return verdict();
}
