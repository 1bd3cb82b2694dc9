// SPDX-License-Identifier: BSL-1.0
// Counters and kept details of wrong releases.
#include "record/faults.hpp"

namespace heapmark::record {
namespace {

struct Slot {
    std::atomic<bool> ready;
    FaultDetail detail;
};

constinit std::atomic<std::uint64_t> counts[fault_kinds]{};
constinit std::atomic<std::size_t> next_slot{0};
constinit Slot slots[kept_faults]{};

} // namespace

constinit std::atomic<void (*)(const FaultDetail&)> fault_listener{nullptr};

void count_fault(FaultKind kind) noexcept
{
    counts[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t fault_count(FaultKind kind) noexcept
{
    return counts[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
}

void keep_fault(const FaultDetail& detail) noexcept
{
    if (next_slot.load(std::memory_order_relaxed) >= kept_faults) return;
    const std::size_t index = next_slot.fetch_add(1, std::memory_order_relaxed);
    if (index >= kept_faults) return;
    slots[index].detail = detail;
    slots[index].ready.store(true, std::memory_order_release);
}

const FaultDetail* kept_fault(std::size_t index) noexcept
{
    return slots[index].ready.load(std::memory_order_acquire) ? &slots[index].detail : nullptr;
}

} // namespace heapmark::record
