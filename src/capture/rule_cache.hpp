// SPDX-License-Identifier: BSL-1.0
// A thread's own direct-mapped memory of compiled rules. Valid when zero.
// Shared by a thread and the signal handlers that interrupt it, and by nobody else.
#pragma once

#include "capture/frame_bits.hpp"
#include "capture/rule.hpp"
#include "platform/modules.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heapmark::capture {

/// A return address with its module, and the rule that leads to its caller.
struct CachedRule {
    std::uint64_t frame;
    Rule rule;
};

struct RuleCache {
    static constexpr std::size_t entry_count = 2048; ///< 32 KB: the call sites of a busy thread, and still in L2

    std::uint32_t epoch;      ///< of unloading, that the entries are valid for
    std::uint32_t fill_count; ///< a walk whose handler filled entries meanwhile may have read half of one
    bool filling;             ///< a handler must leave the cache alone
    alignas(16) CachedRule entries[entry_count];

    CachedRule& entry_for(std::uintptr_t pc) noexcept { return entries[pc % entry_count]; }

    /// Frame::bits of a return address whose rule is known; 0: it is not.
    [[nodiscard]] std::uint64_t frame_at(std::uintptr_t pc) noexcept
    {
        const std::uint64_t frame = entry_for(pc).frame;
        return (frame & frame_address_mask) == pc && epoch == platform::unload_epoch() ? frame : 0;
    }

    /// Empties the cache when a module may have gone since.
    void renew(std::uint32_t now) noexcept
    {
        begin_fill();
        for (CachedRule& entry : entries) entry = {};
        epoch = now;
        end_fill();
    }

    void fill(std::uintptr_t pc, CachedRule value) noexcept
    {
        begin_fill();
        entry_for(pc) = value;
        end_fill();
    }

private:
    void begin_fill() noexcept
    {
        filling = true;
        std::atomic_signal_fence(std::memory_order_seq_cst); // from here on no handler counts
        ++fill_count;
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    void end_fill() noexcept
    {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        filling = false;
    }
};

/// Compiles the rule of an address and keeps it. Code outside modules is not kept: a library may come to lie there
/// without any unloading. An address that no frame can hold gives an empty entry. Counts what it keeps.
[[gnu::cold]] CachedRule compile_frame(std::uintptr_t pc, RuleCache* cache, std::uint32_t& fills) noexcept;

} // namespace heapmark::capture
