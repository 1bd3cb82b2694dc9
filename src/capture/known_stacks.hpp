// SPDX-License-Identifier: BSL-1.0
// Stacks that a thread has seen before, and what was made of them.
//
// A stack is found by its innermost frame, and proved by the words that lead from it to the outermost one: where they
// all are what they were, the walk would read the same and end the same. So there is no walk, and no hash either: loads
// from known addresses, which do not wait for each other.
#pragma once

#include "capture/stack_cache.hpp"

namespace heapmark::capture {

/// Valid when zero. Shared by a thread and the signal handlers that interrupt it, and by nobody else.
class KnownStacks {
public:
    /// What was kept for the stack at `caller` under `key`; 0: it is not known. Never a wrong one.
    [[nodiscard]] [[gnu::always_inline]] std::uint32_t find(Caller caller, std::uint64_t key) noexcept
    {
        caller.sp &= sp_mask_;
        const std::uint32_t changes = changes_;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        const std::size_t set = set_of(caller);
        const Slot* slot = slots_ + set * ways + likely_way_[set];
        if (!slot->holds(caller, key)) [[unlikely]] {
            slot = find_in_other_ways(set, caller.pc, caller.sp, caller.fp, key);
            if (slot == nullptr) return 0;
        }
        const std::uint32_t note = slot->note;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return changes_ == changes ? note : 0; // otherwise a handler has been at the slot meanwhile
    }

    /// Keeps `note`, which is not 0, for the stack that refresh() has just found. Only now and then does it do so where
    /// other stacks with the same innermost frame have come before: if they take turns it would be for nothing.
    void keep(StackCache& stacks, const Refreshed& found, const Caller& caller, std::uint64_t key,
              std::uint32_t note) noexcept;

    /// keep() where a stack is the direct caller alone, which `begin` must have been told.
    void keep_caller(const Caller& caller, std::uint64_t key, std::uint32_t note) noexcept;

    /// Forgets all: the stack may be another thread's, or the depth limit another one.
    void begin(unsigned max_frames) noexcept
    {
        for (Slot& slot : slots_) slot.caller.pc = 0;
        sp_mask_ = max_frames == 1 ? 0 : ~std::uintptr_t{0};
    }

private:
    static constexpr unsigned set_bits = 5;
    static constexpr std::size_t set_count = std::size_t{1} << set_bits;
    static constexpr std::size_t ways = 4; ///< one function called from several places is often at the same address
    static constexpr std::size_t check_capacity = 44; ///< those of 32 frames and a few frame registers

    struct alignas(64) Slot { ///< the search begins in one cache line
        Caller caller;
        std::uintptr_t fp_mask; ///< all ones where the way out from the innermost frame uses the frame register
        std::uint64_t key;
        std::uint32_t note;
        std::uint32_t epoch;       ///< of unloading
        std::uint32_t check_count; ///< a multiple of 4
        std::uint32_t refused;     ///< of a set's first slot: stacks that came when all were taken
        StackCache::Check checks[check_capacity];

        /// Four at a time: the loads do not wait for each other, nor for a branch after each. The inner frames, which lie
        /// at the end, come first: they change more often.
        [[nodiscard]] [[gnu::always_inline]] bool unchanged() const noexcept
        {
            for (const StackCache::Check* check = checks + check_count; check != checks; check -= 4)
                if ((difference(check[-1]) | difference(check[-2]) | difference(check[-3]) | difference(check[-4])) !=
                    0)
                    return false;
            return true;
        }

        [[nodiscard]] [[gnu::always_inline]] bool holds(const Caller& now, std::uint64_t its_key) const noexcept
        {
            return caller.pc == now.pc && caller.sp == now.sp && key == its_key &&
                   ((caller.fp ^ now.fp) & fp_mask) == 0 && epoch == platform::unload_epoch() && unchanged();
        }
    };

    static std::size_t set_of(const Caller& caller) noexcept
    {
        return (caller.pc ^ caller.sp << 4) * 0x9e37'79b9'7f4a'7c15U >> (64 - set_bits);
    }

    // Not given a Caller, which would have to be in memory for it.
    [[gnu::noinline]] const Slot* find_in_other_ways(std::size_t set, std::uintptr_t pc, std::uintptr_t sp,
                                                     std::uintptr_t fp, std::uint64_t key) noexcept;
    static Slot* slot_to_fill(Slot* set) noexcept;

    void fill(const Caller& caller, std::uintptr_t fp_mask, std::uint64_t key, std::uint32_t note, std::uint32_t epoch,
              const StackCache::Check* first, const StackCache::Check* last) noexcept;

    std::uintptr_t sp_mask_; ///< 0: only the direct caller counts, whatever its stack pointer
    volatile std::uint32_t changes_;
    bool filling_;                       ///< a handler that interrupts must leave the slots alone
    std::uint8_t likely_way_[set_count]; ///< where each set was right last
    Slot slots_[set_count * ways];
};

} // namespace heapmark::capture
