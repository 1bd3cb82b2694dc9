// SPDX-License-Identifier: BSL-1.0
// Threads that allocate, resize and free each other's blocks for a while, through queues: the totals end equal to
// the truth, which the threads themselves keep, and to what glibc says that it handed out.
#include "both_ways.hpp"
#include "random_heap.hpp"

#include <algorithm>
#include <ctime>
#include <malloc.h>
#include <pthread.h>
#include <vector>

#ifndef HEAPMARK_TEST_PRELOADED
#include <heapmark/heapmark.hpp>
#endif

namespace {

struct Parcel {
    void* block;
    std::size_t size;
};

/// One mailbox a thread, without a lock so that the threads collide in the allocator and not here.
constexpr std::size_t mailbox_slots = 256;
struct Mailbox {
    std::atomic<void*> blocks[mailbox_slots]; ///< the first word of each is its size
};

constexpr std::size_t most_threads = 32;
Mailbox mailboxes[most_threads];
std::size_t thread_count = 0;
std::atomic<bool> go{false};
std::atomic<bool> stop{false};
std::atomic<std::int64_t> true_blocks{0};
std::atomic<std::int64_t> true_bytes{0};

Parcel make(Random& random)
{
    const std::size_t size = 8 + random.below(random.below(16) == 0 ? 60'000 : 400);
    void* block = nullptr;
    switch (random.below(4)) {
    case 0: block = std::malloc(size); break;
    case 1: block = std::calloc(1, size); break;
    case 2: block = aligned_alloc(std::size_t{16} << random.below(4), size); break;
    default: block = std::realloc(nullptr, size); break;
    }
    return {opaque(block), size};
}

void* take_part(void* number)
{
    const auto own = reinterpret_cast<std::uintptr_t>(number);
    Random random(own + 77);
    std::int64_t blocks = 0;
    std::int64_t bytes = 0;
    while (!go.load()) {}
    while (!stop.load(std::memory_order_relaxed)) {
        Parcel parcel = make(random);
        ++blocks;
        bytes += static_cast<std::int64_t>(parcel.size);
        if (random.below(4) == 0) {
            const std::size_t size = 8 + random.below(2000);
            parcel.block = opaque(std::realloc(parcel.block, size));
            bytes += static_cast<std::int64_t>(size) - static_cast<std::int64_t>(parcel.size);
            parcel.size = size;
        }
        *static_cast<std::size_t*>(parcel.block) = parcel.size;
        std::atomic<void*>& slot = mailboxes[random.below(thread_count)].blocks[random.below(mailbox_slots)];
        if (void* taken = slot.exchange(parcel.block)) {
            --blocks;
            bytes -= static_cast<std::int64_t>(*static_cast<std::size_t*>(taken));
            std::free(taken);
        }
    }
    true_blocks += blocks;
    true_bytes += bytes;
    return nullptr;
}

void run(std::size_t threads, unsigned milliseconds, bool first = false)
{
    thread_count = threads;
    true_blocks = true_bytes = 0;
    go = stop = false;
    std::vector<pthread_t> ids(threads);
    const struct mallinfo2 before = mallinfo2();
    const Since since;
    for (std::size_t i = 0; i < threads; ++i)
        pthread_create(&ids[i], nullptr, take_part, reinterpret_cast<void*>(i)); // NOLINT: a number
    go = true;
    usleep(milliseconds * 1000);
    static_cast<void>(totals_since(since.generation())); // may be asked at any time
    stop = true;
    for (const pthread_t id : ids) pthread_join(id, nullptr);

    EXPECT(true_blocks > 0);
    EXPECT(since.holds(static_cast<std::uint64_t>(true_blocks.load()), static_cast<std::uint64_t>(true_bytes.load())));
    const struct mallinfo2 after = mallinfo2();
    std::size_t chunk_bytes = 0; // glibc: a chunk is the usable bytes and one word; nothing here is mapped
    for (Mailbox& mailbox : mailboxes)
        for (std::atomic<void*>& slot : mailbox.blocks)
            if (void* block = slot.load()) chunk_bytes += malloc_usable_size(block) + sizeof(std::size_t);
    // The first time, the thread library keeps tables of the stacks that it keeps.
    if (!first) EXPECT_EQ(after.uordblks - before.uordblks, chunk_bytes);
#ifndef HEAPMARK_TEST_PRELOADED
    const heapmark::Snapshot alive = heapmark::survivors(heapmark::Generation{since.generation()});
    EXPECT_EQ(alive.size(), static_cast<std::uint64_t>(true_blocks.load()));
    EXPECT_EQ(alive.bytes(), static_cast<std::uint64_t>(true_bytes.load()));
    std::size_t listed_bytes = 0;
    for (const heapmark::Block& block : alive) listed_bytes += block.usable_size + sizeof(std::size_t);
    EXPECT_EQ(listed_bytes, chunk_bytes);
#endif
    for (Mailbox& mailbox : mailboxes)
        for (std::atomic<void*>& slot : mailbox.blocks) std::free(slot.exchange(nullptr));
    EXPECT(since.holds(0, 0));
}

} // namespace

int main()
{
    // So that glibc's own sum is exact: no caches of freed blocks (the environment turns tcache off), nothing mapped,
    // arenas made beforehand, and no thread's table of thread-local blocks made anew, perhaps in a larger chunk (the
    // environment lets the stacks of ended threads, which those belong to, wait for the next ones).
    mallopt(M_MXFAST, 0);
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_ARENA_MAX, 4);
    run(most_threads, 100, true);
    run(2, 1500);
    run(8, 1500);
    run(32, 1500);
#ifndef HEAPMARK_TEST_PRELOADED
    const heapmark::Faults faults = heapmark::faults();
    EXPECT_EQ(faults.mismatched_releases + faults.double_frees + faults.unknown_frees, 0U);
#endif
    return verdict();
}
