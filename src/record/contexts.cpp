// SPDX-License-Identifier: BSL-1.0
// The generation clock and the contexts.
#include "record/contexts.hpp"

#include <limits>

namespace heapmark::record {

constinit Clock clock;

namespace {

constexpr std::uint32_t made_ready = 1024; ///< contexts at a time

} // namespace

std::uint32_t Clock::advance() noexcept
{
    std::uint64_t state = state_.load(std::memory_order_relaxed);
    do {
        if (state >> 32 == std::numeric_limits<std::uint32_t>::max()) return std::numeric_limits<std::uint32_t>::max();
        // seq_cst: a mark is a fence between what came before and after it, as its callers expect.
    } while (!state_.compare_exchange_weak(state, state + (std::uint64_t{1} << 32), std::memory_order_seq_cst));
    return static_cast<std::uint32_t>(state >> 32) + 1;
}

Context* Clock::take_context(std::uint32_t thread, std::int64_t balance_bytes) noexcept
{
    if (end_context() >> context_id_bits != 0) return nullptr;
    const std::uint64_t state = state_.fetch_add(1, std::memory_order_acq_rel);
    const auto id = static_cast<std::uint32_t>(state);
    if (id >> context_id_bits != 0) return nullptr;
    Context* taken = contexts_.slot(id);
    if (taken == nullptr) return nullptr;
    // Page by page it is the first touch that costs. Who takes so few contexts has no use for more than a page.
    if (id % made_ready == 0) [[unlikely]]
        platform::touch_pages(taken, made_ready * sizeof *taken);
    taken->thread = thread;
    taken->id = id;
    taken->balance_at_start = balance_bytes;
    taken->balance_max.store(balance_bytes, std::memory_order_relaxed);
    taken->generation_plus_one.store(static_cast<std::uint32_t>(state >> 32) + 1, std::memory_order_release);
    return taken;
}

std::uint32_t Clock::first_context(std::uint32_t generation) noexcept
{
    // Binary search over ids whose generation never decreases. An id that is not ready (its thread is just taking it)
    // has no blocks yet; it is passed by towards the older side.
    std::uint32_t low = 1;
    std::uint32_t high = end_context();
    while (low < high) {
        const std::uint32_t middle = low + (high - low) / 2;
        std::uint32_t probe = middle;
        std::uint32_t ready = 0;
        for (; probe >= low; --probe) {
            Context* candidate = context(probe);
            if (candidate != nullptr) ready = candidate->generation_plus_one.load(std::memory_order_acquire);
            if (ready != 0) break;
        }
        if (ready == 0 || ready - 1 < generation)
            low = middle + 1;
        else
            high = probe;
    }
    return low;
}

Totals totals_since(std::uint32_t first_generation) noexcept
{
    Totals sum;
    for_contexts_since(first_generation, [&sum](const Context& context, std::uint32_t) {
        sum += context.born.read();
        sum += -context.died.read();
        sum += -context.taken.read();
    });
    return sum;
}

} // namespace heapmark::record
