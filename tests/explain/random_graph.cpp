// SPDX-License-Identifier: BSL-1.0
// Random graphs of real blocks under globals, thread-local storage and stacks of several threads, against a model that
// knows what can be reached. Nothing that is held may be called lost; how many lost ones were taken for held, because some
// stale word points to them, is told, and may be one in a thousand.
#include "situations.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <pthread.h>
#include <random>
#include <semaphore.h>
#include <vector>

using heapmark::Reach;

namespace {

constexpr unsigned thread_count = 6;
constexpr unsigned slots_each = 16;
constexpr unsigned rounds = 120;

void* global_slots[2 * slots_each];
thread_local void* thread_slots[slots_each];
std::vector<void**> slots; ///< all places of roots
std::atomic<unsigned> ready{0};
sem_t done;

struct Offer {
    void** on_stack;
    void** thread_local_ones;
} offers[thread_count];

void* wait_with_slots(void* number)
{
    void* stack_slots[slots_each] = {};
    heapmark::escape(&stack_slots);
    offers[reinterpret_cast<std::uintptr_t>(number)] = {stack_slots, thread_slots};
    ready.fetch_add(1);
    while (sem_wait(&done) != 0) {}
    return nullptr;
}

/// What the model knows of a block; its address in a form that no search takes for a pointer, and no other pointers either:
/// they would be stale words once the list is used anew.
struct Known {
    std::uintptr_t hidden;
    std::size_t bytes;
    std::size_t first_target; ///< in `targets`, up to the next block's
    bool held;
};
std::vector<Known> blocks;
std::vector<unsigned> targets;
std::vector<unsigned> todo;

void* shown(const Known& block) { return reinterpret_cast<void*>(~block.hidden); }

[[gnu::noinline]] void build(std::mt19937& random)
{
    blocks.clear();
    targets.clear();
    const auto count = static_cast<unsigned>(50 + random() % 400);
    for (unsigned i = 0; i < count; ++i) {
        const std::size_t bytes = 8 + random() % 200;
        void* block = std::calloc(1, bytes);
        blocks.push_back({~reinterpret_cast<std::uintptr_t>(block), bytes, 0, false});
    }
    const auto pointer_into = [&](unsigned target) {
        return static_cast<char*>(shown(blocks[target])) + random() % blocks[target].bytes;
    };
    for (Known& block : blocks) {
        auto* const words = static_cast<void**>(shown(block));
        block.first_target = targets.size();
        for (std::size_t word = 0; word < block.bytes / sizeof(void*); ++word) {
            if (random() % 12 != 0) continue;
            const auto target = static_cast<unsigned>(random() % count);
            words[word] = pointer_into(target);
            targets.push_back(target);
        }
    }
    for (void** slot : slots) {
        *slot = nullptr;
        if (random() % 12 != 0) continue;
        const auto target = static_cast<unsigned>(random() % count);
        *slot = pointer_into(target);
        todo.push_back(target);
    }
    while (!todo.empty()) {
        const unsigned at = todo.back();
        todo.pop_back();
        if (blocks[at].held) continue;
        blocks[at].held = true;
        const std::size_t end = at + 1 < count ? blocks[at + 1].first_target : targets.size();
        for (std::size_t i = blocks[at].first_target; i < end; ++i) todo.push_back(targets[i]);
    }
}

struct Tally {
    std::size_t held = 0;
    std::size_t lost = 0;
    std::size_t false_alarms = 0;
    std::size_t missed = 0;
    std::size_t incomplete = 0;
};

/// In a frame of its own, that is overwritten afterwards: where its snapshot was, a word stays behind.
[[gnu::noinline]] void ask_and_compare(heapmark::Generation g, Tally& tally)
{
    const heapmark::Explanation why = explain_since(g);
    tally.incomplete += why.complete() ? 0 : 1;
    for (const Known& block : blocks) {
        const bool called_lost =
            why.reach(shown(block)) == Reach::lost || why.reach(shown(block)) == Reach::indirectly_lost;
        ++(block.held ? tally.held : tally.lost);
        if (block.held && called_lost) ++tally.false_alarms;
        if (!block.held && !called_lost) ++tally.missed;
    }
}

[[gnu::noinline]] void free_all()
{
    for (void** slot : slots) *slot = nullptr;
    for (const Known& block : blocks) std::free(shown(block));
}

[[gnu::noinline]] void play_round(std::mt19937& random, Tally& tally)
{
    const heapmark::Generation g = heapmark::mark("round");
    build(random);
    scrub_stack();
    ask_and_compare(g, tally);
    free_all();
    scrub_stack();
}

} // namespace

int main()
{
    // Fresh memory, once and for all: unused room of lists that grow is full of stale words.
    blocks.reserve(512);
    targets.reserve(1 << 16);
    todo.reserve(1 << 16);
    sem_init(&done, 0, 0);
    pthread_t threads[thread_count];
    for (std::uintptr_t i = 0; i < thread_count; ++i)
        pthread_create(&threads[i], nullptr, wait_with_slots, reinterpret_cast<void*>(i));
    while (ready.load() != thread_count) {}
    for (void*& slot : global_slots) slots.push_back(&slot);
    for (const Offer& offer : offers)
        for (unsigned i = 0; i < slots_each; ++i) {
            slots.push_back(&offer.on_stack[i]);
            slots.push_back(&offer.thread_local_ones[i]);
        }

    std::mt19937 random(20);
    Tally tally;
    for (unsigned round = 0; round < rounds; ++round) play_round(random, tally);
    std::printf("%zu held blocks, %zu of them called lost; %zu lost blocks, %zu of them called held\n", tally.held,
                tally.false_alarms, tally.lost, tally.missed);
    EXPECT_EQ(tally.false_alarms, 0);
    EXPECT_EQ(tally.incomplete, 0);
    EXPECT(tally.held > 5000 && tally.lost > 5000);
    EXPECT(tally.missed * 1000 <= tally.lost);

    for (unsigned i = 0; i < thread_count; ++i) sem_post(&done);
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
    return verdict();
}
