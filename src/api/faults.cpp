// SPDX-License-Identifier: BSL-1.0
// Faults as values.
#include "api/faults.hpp"

#include "platform/monotonic_clock.hpp"
#include "platform/thread_state.hpp"
#include "record/depot.hpp"
#include "snapshot/collect.hpp"

#include <algorithm>

namespace heapmark {
namespace {

static_assert(static_cast<int>(Fault::Kind::unknown_free) == static_cast<int>(record::FaultKind::unknown_free));
static_assert(static_cast<int>(Fault::Mismatch::alignment) == static_cast<int>(record::Mismatch::alignment));

} // namespace

Fault fault_of(const record::FaultDetail& detail) noexcept
{
    Fault fault;
    fault.kind = static_cast<Fault::Kind>(detail.kind);
    fault.mismatch = static_cast<Fault::Mismatch>(detail.mismatch);
    fault.thread = ThreadId{detail.thread};
    fault.released_by = detail.released_by;
    fault.address = reinterpret_cast<void*>(detail.address); // NOLINT(performance-no-int-to-ptr)
    fault.stated = detail.stated;
    if (const record::Site* site = record::site(detail.release_site))
        fault.stack = Stack(reinterpret_cast<const Frame*>(site->frames()), site->depth_frames);
    if (detail.birth != record::Entry{})
        fault.birth =
            snapshot::block_at(detail.birth_address, detail.birth, detail.birth_sizes, platform::monotonic_ns());
    return fault;
}

Faults faults()
{
    const platform::Guard guard;
    Faults all;
    all.mismatched_releases = record::fault_count(record::FaultKind::mismatched_release);
    all.double_frees = record::fault_count(record::FaultKind::double_free);
    all.unknown_frees = record::fault_count(record::FaultKind::unknown_free);
    const std::uint64_t counted = all.mismatched_releases + all.double_frees + all.unknown_frees;
    const auto kept_at_most = static_cast<std::size_t>(std::min<std::uint64_t>(counted, record::kept_faults));
    for (std::size_t index = 0; index < kept_at_most; ++index)
        if (const record::FaultDetail* detail = record::kept_fault(index)) all.details.push_back(fault_of(*detail));
    return all;
}

} // namespace heapmark
