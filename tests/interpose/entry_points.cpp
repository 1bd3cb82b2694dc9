// SPDX-License-Identifier: BSL-1.0
// Every entry point: what is recorded of each block, and that each right release takes it off to the byte.
#include "doors.hpp"

#ifndef HEAPMARK_TEST_PRELOADED
#include <heapmark/heapmark.hpp>
#endif

#include <cstring>
#include <stdexcept>

using namespace doors;

namespace {

void expect_birth([[maybe_unused]] const Since& since, [[maybe_unused]] const Obtain& obtain,
                  [[maybe_unused]] void* address, [[maybe_unused]] std::size_t size)
{
#ifndef HEAPMARK_TEST_PRELOADED
    const heapmark::Snapshot alive = heapmark::survivors(heapmark::Generation{since.generation()});
    if (!EXPECT_EQ(alive.size(), 1U)) return;
    const heapmark::Block& block = alive[0];
    EXPECT_EQ(alive.bytes(), size);
    EXPECT_EQ(block.address, address);
    EXPECT_EQ(block.size, size);
    EXPECT_EQ(block.usable_size, malloc_usable_size(address));
    EXPECT_EQ(block.api, obtain.api);
    EXPECT_EQ(block.generation, heapmark::Generation{since.generation()});
    EXPECT_EQ(block.thread, heapmark::this_thread());
    EXPECT(!block.ignored);
    EXPECT(block.tag.empty());
    if (EXPECT(!block.stack.empty())) EXPECT(obtain.code.holds_return_address(block.stack[0].address()));
    EXPECT(block.stack.size() > 1);
#endif
}

void obtain_and_release(const Obtain& obtain, const Release& release, std::size_t size)
{
    const Since since;
    void* block = obtain.call(size);
    const bool held = EXPECT(block != nullptr) && EXPECT(since.holds(1, size)) &&
                      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % obtain.alignment, 0U) &&
                      EXPECT(malloc_usable_size(block) >= size);
    expect_birth(since, obtain, block, size);
    if (obtain.api == heapmark::Api::calloc)
        for (std::size_t i = 0; i < size; ++i)
            if (static_cast<unsigned char*>(block)[i] != 0)
                check_failed("calloc gives zeroed memory", __FILE__, __LINE__);
    std::memset(block, 0xA5, malloc_usable_size(block));
    release.call(block, size);
    if (!EXPECT(since.holds(0, 0)) || !held)
        dprintf(STDERR_FILENO, "  in %s, %s, size %zu\n", obtain.name, release.name, size);
}

/// Requests of no bytes are served with blocks that are told apart.
void expect_unique_when_empty(const Obtain& obtain)
{
    const Since since;
    constexpr std::size_t count = 8;
    void* blocks[count];
    for (void*& block : blocks) block = obtain.call(0);
    EXPECT(since.holds(count, 0));
    for (std::size_t i = 0; i < count; ++i) {
        EXPECT(blocks[i] != nullptr);
        for (std::size_t j = 0; j < i; ++j) EXPECT(blocks[i] != blocks[j]);
    }
    for (const Release& release : releases) {
        if (judge(obtain, release) != Pair::right || release.states_size) continue;
        for (void* block : blocks) release.call(block, 0);
        break;
    }
    EXPECT(since.holds(0, 0));
}

} // namespace

int main()
{
    EXPECT(is_active());
    // Sizes at the edges of what a map word holds inline, of granules, of pages and of mapped blocks.
    constexpr std::size_t sizes[] = {0,  1,  8,  15, 16, 17, 23, 24,   25,   31,   32,      33,     40,
                                     41, 55, 56, 57, 63, 64, 72, 1000, 4096, 5000, 135'000, 300'000};
    for (const Obtain& obtain : obtains) {
        for (const Release& release : releases) {
            if (judge(obtain, release) != Pair::right) continue;
            for (const std::size_t size : sizes) obtain_and_release(obtain, release, size);
        }
        expect_unique_when_empty(obtain);
    }
    const Since since;
    for (const Release& release : releases) release.call(nullptr, 0); // releasing nothing does nothing
    EXPECT(since.holds(0, 0));
#ifndef HEAPMARK_TEST_PRELOADED
    const heapmark::Faults faults = heapmark::faults();
    EXPECT_EQ(faults.mismatched_releases + faults.double_frees + faults.unknown_frees, 0U);
#endif
    return verdict();
}
