// SPDX-License-Identifier: BSL-1.0
// mark, survivors, live, counts.
#include "record/generations.hpp"
#include "api/reading_calls.hpp"
#include "platform/thread_state.hpp"
#include "record/contexts.hpp"
#include "record/threads.hpp"
#include "snapshot/collect.hpp"
#include "snapshot/snapshot_access.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace heapmark {

namespace {

/// What a thread had requested and not released, over its contexts in a range, newest first.
class Balance {
public:
    void include(const record::Context& context) noexcept
    {
        start_ = context.balance_at_start;
        most_ = std::max(most_, context.balance_max.load(std::memory_order_relaxed));
    }
    [[nodiscard]] std::uint64_t rise() const noexcept
    {
        return most_ < start_ ? 0 : static_cast<std::uint64_t>(most_ - start_);
    }

private:
    std::int64_t start_ = 0;
    std::int64_t most_ = std::numeric_limits<std::int64_t>::min();
};

} // namespace

Generation mark(const char* name) noexcept
{
    const Generation generation{record::mark(name == nullptr ? "" : name)};
    if (watches_of_marks.load(std::memory_order_relaxed) != 0) [[unlikely]]
        call_readers();
    return generation;
}

Generation current_generation() noexcept { return Generation{record::clock.generation()}; }

std::string_view generation_name(Generation generation) noexcept
{
    return record::name_of(record::number_of(generation));
}

Snapshot survivors(Generation first, Ignored ignored) { return survivors(first, SnapshotAccess::open_end, ignored); }

Snapshot survivors(Generation first, Generation last, Ignored ignored)
{
    const platform::Guard guard;
    return snapshot::collect(first, last, ignored);
}

Snapshot live() { return survivors(Generation{}, Ignored::include); }

Counts counts(Generation since) noexcept
{
    const record::Totals totals = record::totals_since(record::number_of(since));
    return {static_cast<std::uint64_t>(totals.blocks), static_cast<std::uint64_t>(totals.bytes)};
}

Allocations allocations(Generation first, Threads threads)
{
    return allocations(first, SnapshotAccess::open_end, threads);
}

Allocations allocations(Generation first, Generation last, Threads threads)
{
    const std::uint32_t first_number = record::number_of(first);
    const auto self = static_cast<std::uint32_t>(this_thread());
    const platform::Guard guard;
    Balance own; // asked after each test, so the thread that asks takes no table
    std::map<std::uint32_t, Balance> others;
    record::Totals born;
    record::for_contexts_since(first_number, [&](const record::Context& context, std::uint32_t generation) {
        if (generation > static_cast<std::uint64_t>(last)) return;
        if (threads != Threads::all && !record::descends_from(context.thread, self, first_number)) return;
        born += context.born.read();
        (context.thread == self ? own : others[context.thread]).include(context);
    });
    Allocations sum{static_cast<std::uint64_t>(born.blocks), static_cast<std::uint64_t>(born.bytes), own.rise()};
    for (const auto& [thread, balance] : others) sum.peak_bytes += balance.rise();
    return sum;
}

Snapshot allocated(Generation first, Generation last)
{
    const platform::Guard guard;
    return snapshot::collect(first, last, Ignored::leave_out, snapshot::Freed::include);
}

} // namespace heapmark
