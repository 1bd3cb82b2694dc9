// SPDX-License-Identifier: BSL-1.0
// Another allocator underneath: exact counts, its own usable sizes, alignment, small blocks told apart in the map, and
// threads that free each other's blocks. The first argument is a name that only that allocator exports.
#include "doors.hpp"
#include "random_heap.hpp"

#include <cstring>
#include <link.h>
#include <pthread.h>

#ifndef HEAPMARK_TEST_PRELOADED
#include <heapmark/heapmark.hpp>
#endif

using namespace doors;

namespace {

void small_blocks_side_by_side()
{
    const Since since;
    constexpr std::size_t each = 40;
    static void* blocks[65][each];
    std::uint64_t bytes = 0;
    for (std::size_t size = 0; size <= 64; ++size)
        for (void*& block : blocks[size]) {
            block = opaque(malloc(size));
            std::memset(block, static_cast<int>(size), size);
            bytes += size;
        }
    EXPECT(since.holds(65 * each, bytes));
#ifndef HEAPMARK_TEST_PRELOADED
    const heapmark::Snapshot alive = heapmark::survivors(heapmark::Generation{since.generation()});
    EXPECT_EQ(alive.size(), 65 * each);
    std::size_t found = 0;
    for (const heapmark::Block& listed : alive) {
        EXPECT_EQ(listed.usable_size, malloc_usable_size(listed.address));
        EXPECT(listed.usable_size >= listed.size);
        for (void* block : blocks[listed.size])
            if (block == listed.address) ++found;
    }
    EXPECT_EQ(found, 65 * each);
#endif
    for (std::size_t size = 0; size <= 64; ++size)
        for (void* block : blocks[size]) {
            for (std::size_t i = 0; i < size; ++i)
                if (static_cast<unsigned char*>(block)[i] != size)
                    check_failed("blocks do not overlap", __FILE__, __LINE__);
            std::free(block);
        }
    EXPECT(since.holds(0, 0));
}

void every_entry_point()
{
    for (const Obtain& obtain : obtains)
        for (const Release& release : releases) {
            if (judge(obtain, release) != Pair::right) continue;
            for (const std::size_t size :
                 std::initializer_list<std::size_t>{0, 1, 16, 31, 32, 33, 100, 5000, 300'000, 5'000'000}) {
                const Since since;
                void* block = obtain.call(size);
                const std::size_t usable = malloc_usable_size(block);
                if (!EXPECT(block != nullptr) || !EXPECT(since.holds(1, size)) || !EXPECT(usable >= size) ||
                    !EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % (size < 16 ? 1 : obtain.alignment), 0U))
                    dprintf(STDERR_FILENO, "  in %s, size %zu\n", obtain.name, size);
                std::memset(block, 0x3C, size);
                release.call(block, size);
                EXPECT(since.holds(0, 0));
            }
        }
    const Since since;
    void* block = opaque(malloc(10));
    for (const std::size_t size : std::initializer_list<std::size_t>{20, 40, 4000, 2'000'000, 100, 33, 1}) {
        block = opaque(realloc(block, size));
        EXPECT(since.holds(1, size));
    }
    EXPECT(realloc(opaque(block), 0) == nullptr); // freed, as with glibc
    EXPECT(since.holds(0, 0));
}

std::atomic<void*> exchanged[64];

void* exchange_blocks(void* seed)
{
    Random random(reinterpret_cast<std::uintptr_t>(seed));
    for (int i = 0; i < 200'000; ++i)
        std::free(exchanged[random.below(64)].exchange(opaque(malloc(random.below(random.below(9) == 0 ? 9000 : 99)))));
    return nullptr;
}

void exchange()
{
    const Since since;
    pthread_t threads[2];
    for (std::size_t i = 0; i < 2; ++i)
        pthread_create(&threads[i], nullptr, exchange_blocks, reinterpret_cast<void*>(i + 1)); // NOLINT: a number
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
    EXPECT(since.blocks() <= 64);
    for (std::atomic<void*>& slot : exchanged) std::free(slot.exchange(nullptr));
    EXPECT(since.holds(0, 0));
}

/// Whether the allocator is really underneath: it must come before the C library, and have been asked.
bool is_underneath(const char* name) { return dlsym(RTLD_DEFAULT, name) != nullptr; }

} // namespace

int main(int count, char** arguments)
{
    if (count < 2 || !is_underneath(arguments[1])) {
        std::printf("cannot run here: the allocator is not in this process\n");
        return cannot_run_here;
    }
    EXPECT(is_active());
    small_blocks_side_by_side();
    every_entry_point();
    exchange();
    use_heap_at_random(9);
#ifndef HEAPMARK_TEST_PRELOADED
    const heapmark::Faults faults = heapmark::faults();
    EXPECT_EQ(faults.mismatched_releases + faults.double_frees, 0U);
#endif
    return verdict();
}
