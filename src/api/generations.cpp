// SPDX-License-Identifier: BSL-1.0
// mark, survivors, live, counts.
#include "record/generations.hpp"
#include "platform/thread_state.hpp"
#include "record/contexts.hpp"
#include "snapshot/collect.hpp"
#include "snapshot/snapshot_access.hpp"

namespace heapmark {
Generation mark(const char* name) noexcept { return Generation{record::mark(name == nullptr ? "" : name)}; }

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

} // namespace heapmark
