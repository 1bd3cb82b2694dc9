// SPDX-License-Identifier: BSL-1.0
// Snapshots while four threads allocate, resize and free: each block that lived through the call is listed exactly
// once with its size; none that was freed before the call is; nothing is listed with sizes that it never had.
#include "both_ways.hpp"
#include "random_heap.hpp"

#include <ctime>
#include <pthread.h>
#include <unordered_map>
#include <vector>

#include <heapmark/heapmark.hpp>

namespace {

constexpr std::size_t threads_count = 4;
constexpr std::size_t slots = 400;

/// The truth about one slot. `version` is odd while the owner changes it; the checker takes what it sees twice.
struct Slot {
    std::atomic<std::uint64_t> version{0};
    std::atomic<void*> block{nullptr};
    std::atomic<std::size_t> size{0};
};
Slot truth[threads_count][slots];
std::atomic<bool> stop{false};
constexpr std::size_t largest = 3000;

void* change_for_ever(void* number)
{
    const auto own = reinterpret_cast<std::uintptr_t>(number);
    Random random(own + 5);
    while (!stop.load(std::memory_order_relaxed)) {
        Slot& slot = truth[own][random.below(slots)];
        slot.version.fetch_add(1);
        const std::size_t size = 1 + random.below(largest);
        void* block = slot.block.load();
        if (block != nullptr && random.below(2) == 0) {
            std::free(block);
            block = nullptr;
        } else
            block = opaque(std::realloc(block, size)); // often shrunk in place, so that others get the rest
        slot.block.store(block);
        slot.size.store(size);
        slot.version.fetch_add(1);
    }
    return nullptr;
}

struct Seen {
    std::uint64_t version;
    void* block;
    std::size_t size;
};

std::vector<Seen> look()
{
    std::vector<Seen> all;
    all.reserve(threads_count * slots);
    for (auto& thread : truth)
        for (Slot& slot : thread) {
            const std::uint64_t version = slot.version.load();
            const Seen seen{version, slot.block.load(), slot.size.load()};
            const bool stable = version % 2 == 0 && slot.version.load() == version;
            all.push_back(stable ? seen : Seen{1, nullptr, 0});
        }
    return all;
}

} // namespace

int main()
{
    const Since since;
    pthread_t threads[threads_count];
    for (std::size_t i = 0; i < threads_count; ++i)
        pthread_create(&threads[i], nullptr, change_for_ever, reinterpret_cast<void*>(i)); // NOLINT: a number

    int snapshots = 0;
    std::uint64_t lived_through = 0;
    timespec begin{};
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        std::vector<Seen> before;
        std::vector<Seen> after;
        heapmark::Snapshot alive;
        {
            const heapmark::ignore own; // the checker's lists
            before = look();
            alive = heapmark::survivors(heapmark::Generation{since.generation()});
            after = look();
        }
        const heapmark::ignore own;
        std::unordered_map<const void*, const heapmark::Block*> listed;
        for (const heapmark::Block& block : alive) {
            EXPECT(listed.emplace(block.address, &block).second); // none twice
            EXPECT(block.size >= 1 && block.size <= largest);
            EXPECT(block.usable_size >= block.size && block.usable_size < block.size + 4096);
            EXPECT(block.api == heapmark::Api::realloc);
        }
        for (std::size_t i = 0; i < before.size(); ++i) {
            if (before[i].version % 2 != 0 || before[i].version != after[i].version || before[i].block == nullptr)
                continue;
            ++lived_through;
            const auto found = listed.find(before[i].block);
            if (EXPECT(found != listed.end())) EXPECT_EQ(found->second->size, before[i].size);
        }
        // What is listed is alive now, or was changed since the first look.
        std::unordered_map<const void*, int> known;
        bool any_unstable = false;
        for (std::size_t i = 0; i < before.size(); ++i) {
            known[before[i].block] = 1;
            known[after[i].block] = 1;
            any_unstable = any_unstable || before[i].version % 2 != 0 || after[i].version % 2 != 0 ||
                           before[i].version + 2 < after[i].version;
        }
        if (!any_unstable)
            for (const heapmark::Block& block : alive) EXPECT(known.count(block.address) != 0);
        ++snapshots;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begin.tv_sec < 3 && failed_checks.load() < 20);
    stop = true;
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
    EXPECT(snapshots > 20);
    EXPECT(lived_through > 1000);

    // At rest the list is the truth itself.
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
    for (auto& thread : truth)
        for (Slot& slot : thread)
            if (slot.block.load() != nullptr) {
                ++blocks;
                bytes += slot.size.load();
            }
    EXPECT(since.holds(blocks, bytes));
    const heapmark::Snapshot at_rest = heapmark::survivors(heapmark::Generation{since.generation()});
    EXPECT_EQ(at_rest.size(), blocks);
    EXPECT_EQ(at_rest.bytes(), bytes);
    for (auto& thread : truth)
        for (Slot& slot : thread) std::free(slot.block.exchange(nullptr));
    EXPECT(since.holds(0, 0));
    return verdict();
}
