// SPDX-License-Identifier: BSL-1.0
// Filling the table of known stacks.
#include "capture/known_stacks.hpp"

#include <algorithm>

namespace heapmark::capture {

const KnownStacks::Slot* KnownStacks::find_in_other_ways(std::size_t set, std::uintptr_t pc, std::uintptr_t sp,
                                                         std::uintptr_t fp, std::uint64_t key) noexcept
{
    const Caller caller{pc, sp, fp};
    for (std::size_t way = 0; way < ways; ++way) {
        const Slot* slot = slots_ + set * ways + way;
        if (!slot->holds(caller, key)) continue;
        likely_way_[set] = static_cast<std::uint8_t>(way);
        return slot;
    }
    return nullptr;
}

/// The slot of a set that the next stack goes to; nullptr: not this time.
KnownStacks::Slot* KnownStacks::slot_to_fill(Slot* set) noexcept
{
    constexpr std::uint32_t patience = 8;
    for (Slot* slot = set; slot != set + ways; ++slot)
        if (slot->caller.pc == 0) return slot;
    const std::uint32_t refused = ++set->refused;
    return refused % patience == 0 ? set + refused / patience % ways : nullptr;
}

void KnownStacks::fill(const Caller& caller, std::uintptr_t fp_mask, std::uint64_t key, std::uint32_t note,
                       std::uint32_t epoch, const StackCache::Check* first, const StackCache::Check* last) noexcept
{
    if (filling_ || last - first > static_cast<std::ptrdiff_t>(check_capacity)) return;
    filling_ = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (Slot* slot = slot_to_fill(slots_ + set_of(caller) * ways)) {
        changes_ = changes_ + 1; // for the search that this handler may have interrupted
        slot->caller.pc = 0;     // for handlers that interrupt from here on
        std::atomic_signal_fence(std::memory_order_seq_cst);
        slot->fp_mask = fp_mask;
        slot->key = key;
        slot->note = note;
        slot->epoch = epoch;
        StackCache::Check* end = std::copy(first, last, slot->checks);
        while ((end - slot->checks) % 4 != 0) *end++ = *first;
        slot->check_count = static_cast<std::uint32_t>(end - slot->checks);
        slot->caller.sp = caller.sp;
        slot->caller.fp = caller.fp;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        slot->caller.pc = caller.pc;
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    filling_ = false;
}

void KnownStacks::keep(StackCache& stacks, const Refreshed& found, const Caller& caller, std::uint64_t key,
                       std::uint32_t note) noexcept
{
    if (stacks.busy) return; // this is a handler, and what it interrupted is at it
    stacks.busy = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (stacks.refreshes == found.refreshes) { // otherwise a handler has been at the levels since
        const StackCache::Level& top = stacks.levels[stacks.count];
        const StackCache::Level& outermost = stacks.levels[stacks.count - found.count + 1];
        fill(caller, top.fp_mask, key, note, stacks.epoch, stacks.checks + outermost.checks_end,
             stacks.checks + top.checks_end);
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    stacks.busy = false;
}

void KnownStacks::keep_caller(const Caller& caller, std::uint64_t key, std::uint32_t note) noexcept
{
    fill({caller.pc, 0, 0}, 0, key, note, platform::unload_epoch(), nullptr, nullptr);
}

} // namespace heapmark::capture
