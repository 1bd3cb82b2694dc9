// SPDX-License-Identifier: BSL-1.0
// The generation clock, and contexts: one for each pair of a generation and a thread that allocated in it.
// A birth names its context, which so stands for both, and which counts its live blocks and bytes.
#pragma once

#include "base/bits.hpp"
#include "platform/growing_table.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heapmark::record {

inline constexpr unsigned context_id_bits = 24;

/// Live blocks and requested bytes; differences, so they may be negative for a while.
struct Totals {
    std::int64_t blocks = 0;
    std::int64_t bytes = 0;

    Totals& operator+=(Totals more) noexcept
    {
        blocks += more.blocks;
        bytes += more.bytes;
        return *this;
    }
    Totals operator-() const noexcept { return {-blocks, -bytes}; }
};

struct AtomicTotals {
    std::atomic<std::int64_t> blocks;
    std::atomic<std::int64_t> bytes;

    [[nodiscard]] Totals read() const noexcept
    {
        return {blocks.load(std::memory_order_relaxed), bytes.load(std::memory_order_relaxed)};
    }
    void add_by_owner(Totals amount) noexcept
    {
        base::add_by_owner(blocks, amount.blocks);
        base::add_by_owner(bytes, amount.bytes);
    }
    void add(Totals amount) noexcept
    {
        blocks.fetch_add(amount.blocks, std::memory_order_relaxed);
        bytes.fetch_add(amount.bytes, std::memory_order_relaxed);
    }
};

struct AccountsBySite;

/// Two cache lines: one that only the context's own thread writes, one for what others do to its blocks.
/// Ignored blocks are in none of the totals.
struct alignas(128) Context {
    std::atomic<std::uint32_t> generation_plus_one; ///< 0 until the context is ready
    std::uint32_t thread;
    std::uint32_t id;
    AtomicTotals born;
    AtomicTotals died;                     ///< freed by the context's own thread
    std::atomic<std::int64_t> balance_max; ///< the most of ThreadState::balance_bytes while it was the thread's
    AccountsBySite* accounts;              ///< nullptr: births in it are not accounted; see accounts.hpp
    alignas(64) AtomicTotals taken;        ///< freed by other threads, or forgotten
    std::int64_t balance_at_start;         ///< ThreadState::balance_bytes when the thread came to it
};
static_assert(sizeof(Context) == 128 && offsetof(Context, taken) == 64);

/// Generation and next context id in one word: so a mark says exactly which contexts are older than itself, and ids
/// never decrease with their generation. Context ids start at 1.
class Clock {
public:
    [[nodiscard]] std::uint32_t generation() const noexcept
    {
        return static_cast<std::uint32_t>(state_.load(std::memory_order_acquire) >> 32);
    }

    /// Starts a generation. After the last of 2^32 the clock stays there.
    std::uint32_t advance() noexcept;

    /// A context of this thread, which has that balance, in the current generation; nullptr when ids or memory ran out.
    Context* take_context(std::uint32_t thread, std::int64_t balance_bytes) noexcept;

    /// Least id of which no context of `generation` or later is below; all ids at and above it are that new.
    [[nodiscard]] std::uint32_t first_context(std::uint32_t generation) noexcept;

    /// One past the last id taken.
    [[nodiscard]] std::uint32_t end_context() const noexcept
    {
        return static_cast<std::uint32_t>(state_.load(std::memory_order_acquire));
    }

    /// The context of an id that was taken; nullptr for 0 and for ids whose memory could not be had.
    [[nodiscard]] Context* context(std::uint32_t id) noexcept { return id == 0 ? nullptr : contexts_.find(id); }

private:
    std::atomic<std::uint64_t> state_{1};
    platform::GrowingTable<Context, context_id_bits, 12> contexts_{};
};

extern constinit Clock clock;

/// Calls `visit(context, generation)` for the contexts of `first_generation` and later, newest first.
template <class Visit>
void for_contexts_since(std::uint32_t first_generation, Visit visit) noexcept
{
    for (std::uint32_t id = clock.end_context(); id-- > 1;) {
        const Context* context = clock.context(id);
        if (context == nullptr) continue;
        const std::uint32_t ready = context->generation_plus_one.load(std::memory_order_acquire);
        if (ready == 0) continue;
        if (ready - 1 < first_generation) break;
        visit(*context, ready - 1);
    }
}

/// Live totals of `first_generation` and later, ignored blocks left out.
Totals totals_since(std::uint32_t first_generation) noexcept;

} // namespace heapmark::record
