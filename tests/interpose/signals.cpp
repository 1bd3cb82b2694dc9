// SPDX-License-Identifier: BSL-1.0
// A storm of signals whose handler allocates, frees and marks while the program allocates hard. Underneath is an
// allocator that handlers may enter, so they interrupt heapmark anywhere; the totals stay exact, also by generation.
#include "both_ways.hpp"
#include "random_heap.hpp"

#include <csignal>
#include <pthread.h>
#include <sys/time.h>

#ifndef HEAPMARK_TEST_PRELOADED
#include <heapmark/heapmark.hpp>

namespace {

std::int64_t usable_bytes(const heapmark::Snapshot& blocks)
{
    std::int64_t sum = 0;
    for (const heapmark::Block& block : blocks) sum += static_cast<std::int64_t>(block.usable_size);
    return sum;
}

} // namespace
#endif

namespace {

constexpr int thread_count = 3;
constexpr std::size_t held_count = 5;

struct Held {
    void* blocks[held_count];
    std::uint32_t next;
};
thread_local Held by_handler;
std::atomic<std::uint64_t> signals{0};
std::atomic<bool> stop{false};

void handler(int)
{
    const std::uint64_t number = signals.fetch_add(1);
    if (number % 3 == 0) mark_now();
    void*& block = by_handler.blocks[by_handler.next++ % held_count];
    if (number % 2 == 0)
        block = opaque(std::realloc(block, 20 + number % 700));
    else {
        std::free(block);
        block = opaque(std::malloc(number % 300));
    }
}

void block_signal(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(how, &set, nullptr);
}

std::atomic<int> waiting{0};
std::atomic<bool> give_back{false};

void* allocate_hard(void* seed)
{
    Random random(reinterpret_cast<std::uintptr_t>(seed));
    constexpr std::size_t slots = 64;
    void* blocks[slots] = {};
    while (!stop.load()) {
        void*& block = blocks[random.below(slots)];
        if (random.below(3) == 0)
            block = opaque(std::realloc(block, 1 + random.below(500)));
        else {
            std::free(block);
            block = opaque(std::malloc(1 + random.below(500)));
        }
    }
    block_signal(SIG_BLOCK);
    ++waiting;
    while (!give_back.load()) usleep(100);
    for (void* block : blocks) std::free(block);
    for (void* block : by_handler.blocks) std::free(block);
    return nullptr;
}

} // namespace

int main()
{
    EXPECT(dlsym(RTLD_DEFAULT, "safe_in_handlers") != nullptr); // the allocator is in this process
    const Since since;
#ifndef HEAPMARK_TEST_PRELOADED
    const heapmark::Accounting accounted_before = heapmark::accounting(); // empty unless it is on
#endif
    struct sigaction action = {};
    action.sa_handler = handler;
    sigaction(SIGALRM, &action, nullptr);
    pthread_t threads[thread_count];
    for (std::size_t i = 0; i < thread_count; ++i)
        pthread_create(&threads[i], nullptr, allocate_hard, reinterpret_cast<void*>(i + 1)); // NOLINT: a number
    block_signal(SIG_BLOCK);
    const itimerval storm = {{0, 100}, {0, 100}};
    const itimerval calm = {};
    setitimer(ITIMER_REAL, &storm, nullptr);
    usleep(2'000'000);
    setitimer(ITIMER_REAL, &calm, nullptr);
    stop = true;
    while (waiting.load() < thread_count) usleep(100);

    EXPECT(signals.load() > 500);
#ifndef HEAPMARK_TEST_PRELOADED
    const heapmark::Snapshot alive = heapmark::survivors(heapmark::Generation{since.generation()});
    EXPECT_EQ(alive.size(), since.blocks());
    EXPECT_EQ(alive.bytes(), since.bytes());
    if (accounted_before.key != heapmark::AccountingKey::none) {
        const heapmark::Accounting accounted = heapmark::accounting(accounted_before);
        EXPECT_EQ(accounted.net_bytes, usable_bytes(alive));
        EXPECT_EQ(accounted.allocations - accounted.frees, alive.size());
    }
    const auto newest = static_cast<std::uint64_t>(heapmark::current_generation());
    for (std::uint64_t back = 0; back < 400 && back < newest; back += 1 + back / 8) {
        const heapmark::Generation first{newest - back};
        const heapmark::Snapshot later = heapmark::survivors(first);
        const heapmark::Counts counts = heapmark::counts(first);
        EXPECT_EQ(later.size(), counts.blocks);
        EXPECT_EQ(later.bytes(), counts.bytes);
    }
#endif
    give_back = true;
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
    EXPECT(since.holds(0, 0));
#ifndef HEAPMARK_TEST_PRELOADED
    if (accounted_before.key != heapmark::AccountingKey::none) {
        const heapmark::Accounting accounted = heapmark::accounting(accounted_before);
        EXPECT_EQ(accounted.net_bytes, 0);
        EXPECT_EQ(accounted.allocations, accounted.frees);
        EXPECT(accounted.allocations > 1000);
    }
    for (std::uint64_t first = since.generation(); first <= static_cast<std::uint64_t>(heapmark::current_generation());
         first += 1 + (static_cast<std::uint64_t>(heapmark::current_generation()) - since.generation()) / 100) {
        const heapmark::Counts counts = heapmark::counts(heapmark::Generation{first});
        EXPECT_EQ(counts.blocks, 0U);
        EXPECT_EQ(counts.bytes, 0U);
    }
#endif
    return verdict();
}
