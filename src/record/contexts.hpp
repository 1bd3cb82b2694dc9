// SPDX-License-Identifier: BSL-1.0
// The generation clock, and contexts: one for each pair of a generation and a thread that allocated in it.
// A birth names its context, which so stands for both, and which counts its live blocks and bytes.
#pragma once

#include "base/bits.hpp"
#include "platform/growing_table.hpp"

#include <atomic>
#include <cstdint>

namespace heapmark::record {

inline constexpr unsigned context_id_bits = 24;

/// Live blocks and requested bytes; differences, so they may be negative for a while.
struct Totals {
    std::int64_t blocks = 0;
    std::int64_t bytes = 0;
};

struct AtomicTotals {
    std::atomic<std::int64_t> blocks;
    std::atomic<std::int64_t> bytes;

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

/// Two cache lines: one that only the context's own thread writes, one for the frees of others.
/// The index of the pairs: 0 survivors, 1 ignored blocks.
struct alignas(128) Context {
    std::atomic<std::uint32_t> generation_plus_one; ///< 0 until the context is ready
    std::uint32_t thread;
    std::uint32_t id;
    AtomicTotals own[2];
    alignas(64) AtomicTotals others[2];
};
static_assert(sizeof(Context) == 128);

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

    /// A context of this thread in the current generation; nullptr when ids or memory ran out.
    Context* take_context(std::uint32_t thread, std::uint32_t& id) noexcept;

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

/// Live totals of `first_generation` and later, ignored blocks left out.
Totals totals_since(std::uint32_t first_generation) noexcept;

} // namespace heapmark::record
