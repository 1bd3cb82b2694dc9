// SPDX-License-Identifier: BSL-1.0
// A slot is claimed by compare-and-swap and comes into force with its first address, which is written last: a thread
// that is stopped in here leaves a root or none.
#include "platform/annotated_roots.hpp"

#include "platform/growing_table.hpp"

namespace heapmark::platform {
namespace {

constexpr unsigned index_bits = 20;

constinit GrowingTable<AnnotatedRoot, index_bits, 8> slots{};
constinit std::atomic<std::uint32_t> slot_count{0};

AnnotatedRoot* claim(std::uint32_t index) noexcept
{
    AnnotatedRoot* slot = slots.slot(index);
    bool claimed = false;
    return slot != nullptr && slot->claimed.compare_exchange_strong(claimed, true) ? slot : nullptr;
}

AnnotatedRoot* claim_any() noexcept
{
    const std::uint32_t count = slot_count.load(std::memory_order_acquire);
    for (std::uint32_t index = 0; index < count; ++index)
        if (AnnotatedRoot* slot = claim(index)) return slot;
    for (;;) {
        if (slot_count.load(std::memory_order_relaxed) >> index_bits != 0) return nullptr;
        const std::uint32_t index = slot_count.fetch_add(1, std::memory_order_acq_rel);
        if (index >> index_bits != 0 || slots.slot(index) == nullptr) return nullptr;
        if (AnnotatedRoot* slot = claim(index)) return slot; // else another thread was quicker
    }
}

} // namespace

bool add_annotated_root(MemoryRange range, std::uint32_t name) noexcept
{
    AnnotatedRoot* slot = claim_any();
    if (slot == nullptr) return false;
    slot->end.store(range.end, std::memory_order_relaxed);
    slot->name.store(name, std::memory_order_relaxed);
    slot->begin.store(range.begin, std::memory_order_release);
    return true;
}

bool remove_annotated_root(std::uintptr_t begin) noexcept
{
    const std::uint32_t count = slot_count.load(std::memory_order_acquire);
    for (std::uint32_t index = 0; begin != 0 && index < count; ++index) {
        AnnotatedRoot* slot = slots.find(index);
        std::uintptr_t expected = begin;
        if (slot == nullptr || !slot->begin.compare_exchange_strong(expected, 0)) continue;
        slot->claimed.store(false, std::memory_order_release);
        return true;
    }
    return false;
}

const AnnotatedRoot* annotated_root(std::uint32_t index) noexcept
{
    return index >> index_bits != 0 || index >= slot_count.load(std::memory_order_acquire) ? nullptr
                                                                                           : slots.find(index);
}

} // namespace heapmark::platform
