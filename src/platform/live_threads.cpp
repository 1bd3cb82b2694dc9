// SPDX-License-Identifier: BSL-1.0
// The table of live threads, and the chain of its free slots.
#include "platform/live_threads.hpp"

#include "platform/growing_table.hpp"
#include "platform/raw_syscall.hpp"

#include <sys/syscall.h>

namespace heapmark::platform {
namespace {

constexpr unsigned index_bits = 22;

constinit GrowingTable<LiveThread, index_bits, 10> slots{};
constinit std::atomic<std::uint32_t> next_unused{1};
/// Index of the first free slot below, a count of changes above: so a slot that was taken and given back in between is
/// told from one that stayed.
constinit std::atomic<std::uint64_t> free_chain{0};

LiveThreadIndex take_free() noexcept
{
    std::uint64_t head = free_chain.load(std::memory_order_acquire);
    for (;;) {
        const auto index = static_cast<LiveThreadIndex>(head);
        if (index == 0) return 0;
        // Slots are never unmapped, so this reads at worst an outdated link, and then the exchange fails.
        const std::uint32_t next = slots.find(index)->next_free.load(std::memory_order_relaxed);
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
        if (next_unused.load(std::memory_order_relaxed) >> index_bits != 0) return 0;
        index = next_unused.fetch_add(1, std::memory_order_relaxed);
        if (index >> index_bits != 0) return 0;
    }
    LiveThread* slot = slots.slot(index);
    if (slot == nullptr) return 0; // without memory the index is lost, and with it one of four million
    slot->argument.store(argument, std::memory_order_relaxed);
    slot->system_id.store(0, std::memory_order_relaxed);
    slot->process.store(static_cast<int>(raw_syscall(SYS_getpid)), std::memory_order_release);
    return index;
}

void begin_live_thread(LiveThreadIndex index, std::uint32_t thread, StackBounds stack) noexcept
{
    LiveThread* slot = index == 0 ? nullptr : slots.find(index);
    if (slot == nullptr) return;
    slot->thread.store(thread, std::memory_order_relaxed);
    slot->stack_low.store(stack.low, std::memory_order_relaxed);
    slot->stack_high.store(stack.high, std::memory_order_relaxed);
    slot->system_id.store(static_cast<int>(raw_syscall(SYS_gettid)), std::memory_order_release);
}

void release_live_thread(LiveThreadIndex index) noexcept
{
    LiveThread* slot = index == 0 ? nullptr : slots.find(index);
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
    return index >> index_bits != 0 || index >= next_unused.load(std::memory_order_acquire) ? nullptr
                                                                                            : slots.find(index);
}

} // namespace heapmark::platform
