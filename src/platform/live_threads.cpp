// SPDX-License-Identifier: BSL-1.0
// The table of live threads: chunks that are mapped when needed and never given back, and a chain of free slots.
#include "platform/live_threads.hpp"

#include "platform/pages.hpp"
#include "platform/raw_syscall.hpp"

#include <sys/syscall.h>

namespace heapmark::platform {
namespace {

constexpr std::uint32_t chunk_slots = 1024;
constexpr std::uint32_t chunk_limit = 4096;

constinit std::atomic<LiveThread*> chunks[chunk_limit]{};
constinit std::atomic<std::uint32_t> next_unused{1};
/// Index of the first free slot below, a count of changes above: so a slot that was taken and given back in between is
/// told from one that stayed.
constinit std::atomic<std::uint64_t> free_chain{0};

LiveThread* slot_at(LiveThreadIndex index, bool make) noexcept
{
    if (index / chunk_slots >= chunk_limit) return nullptr;
    std::atomic<LiveThread*>& place = chunks[index / chunk_slots];
    LiveThread* chunk = place.load(std::memory_order_acquire);
    if (chunk == nullptr && make) {
        constexpr std::size_t bytes = chunk_slots * sizeof(LiveThread);
        auto* fresh = static_cast<LiveThread*>(map_pages(bytes));
        if (fresh == nullptr) return nullptr;
        if (place.compare_exchange_strong(chunk, fresh, std::memory_order_acq_rel))
            chunk = fresh;
        else
            unmap_pages(fresh, bytes);
    }
    return chunk == nullptr ? nullptr : chunk + index % chunk_slots;
}

LiveThreadIndex take_free() noexcept
{
    std::uint64_t head = free_chain.load(std::memory_order_acquire);
    for (;;) {
        const auto index = static_cast<LiveThreadIndex>(head);
        if (index == 0) return 0;
        // Slots are never unmapped, so this reads at worst an outdated link, and then the exchange fails.
        const std::uint32_t next = slot_at(index, false)->next_free.load(std::memory_order_relaxed);
        const std::uint64_t after = ((head >> 32) + 1) << 32 | next;
        if (free_chain.compare_exchange_weak(head, after, std::memory_order_acq_rel, std::memory_order_acquire))
            return index;
    }
}

} // namespace

LiveThreadIndex claim_live_thread(void* argument) noexcept
{
    LiveThreadIndex index = take_free();
    if (index == 0) {
        if (next_unused.load(std::memory_order_relaxed) >= chunk_slots * chunk_limit) return 0;
        index = next_unused.fetch_add(1, std::memory_order_relaxed);
    }
    LiveThread* slot = slot_at(index, true);
    if (slot == nullptr) return 0; // without memory the index is lost, and with it one of four million
    slot->argument.store(argument, std::memory_order_relaxed);
    slot->system_id.store(0, std::memory_order_relaxed);
    slot->process.store(static_cast<int>(raw_syscall(SYS_getpid)), std::memory_order_release);
    return index;
}

void begin_live_thread(LiveThreadIndex index, std::uint32_t thread, StackBounds stack) noexcept
{
    LiveThread* slot = index == 0 ? nullptr : slot_at(index, false);
    if (slot == nullptr) return;
    slot->thread.store(thread, std::memory_order_relaxed);
    slot->stack_low.store(stack.low, std::memory_order_relaxed);
    slot->stack_high.store(stack.high, std::memory_order_relaxed);
    slot->system_id.store(static_cast<int>(raw_syscall(SYS_gettid)), std::memory_order_release);
}

void release_live_thread(LiveThreadIndex index) noexcept
{
    LiveThread* slot = index == 0 ? nullptr : slot_at(index, false);
    if (slot == nullptr) return;
    slot->process.store(0, std::memory_order_relaxed);
    slot->system_id.store(0, std::memory_order_relaxed);
    slot->argument.store(nullptr, std::memory_order_relaxed);
    std::uint64_t head = free_chain.load(std::memory_order_relaxed);
    do {
        slot->next_free.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
    } while (!free_chain.compare_exchange_weak(head, ((head >> 32) + 1) << 32 | index, std::memory_order_acq_rel));
}

LiveThread* live_thread(LiveThreadIndex index) noexcept
{
    return index >= next_unused.load(std::memory_order_acquire) ? nullptr : slot_at(index, false);
}

} // namespace heapmark::platform
