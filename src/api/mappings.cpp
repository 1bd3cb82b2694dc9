// SPDX-License-Identifier: BSL-1.0
// The record of mappings as a snapshot.
#include "record/mappings.hpp"
#include "platform/monotonic_clock.hpp"
#include "platform/thread_state.hpp"
#include "record/contexts.hpp"
#include "record/depot.hpp"
#include "record/generations.hpp"
#include "snapshot/snapshot_access.hpp"

#include <heapmark/mappings.hpp>

#include <new>

namespace heapmark {
namespace {

Block block_of(const record::Mapping& mapping, std::uint64_t now_ns) noexcept
{
    const record::MappingBirth& birth = mapping.birth;
    Block block;
    block.address = reinterpret_cast<void*>(mapping.begin); // NOLINT(performance-no-int-to-ptr)
    block.size = mapping.requested_bytes();
    block.usable_size = mapping.end - mapping.begin;
    block.generation = Generation{birth.generation};
    block.age = {record::clock.generation() - birth.generation, record::age_ns(birth.generation, now_ns)};
    block.thread = ThreadId{birth.thread};
    block.api = birth.api;
    block.ignored = birth.ignored;
    if (const record::Site* site = record::site(birth.site)) {
        block.stack = Stack(reinterpret_cast<const Frame*>(site->frames()), site->depth_frames);
        block.tag = record::text(site->key.tag);
    }
    return block;
}

} // namespace

bool mappings_recorded() noexcept { return record::records_mappings(); }

Snapshot mapped(Generation first, Generation last, Ignored ignored)
{
    const platform::Guard guard;
    const record::MappingList list = record::read_mappings();
    if (!list.complete) throw std::bad_alloc();
    const std::uint64_t now_ns = platform::monotonic_ns();
    std::vector<Block> blocks;
    for (const record::Mapping& mapping : list.mappings) {
        const Generation generation{mapping.birth.generation};
        if (first <= generation && generation <= last && (ignored == Ignored::include || !mapping.birth.ignored))
            blocks.push_back(block_of(mapping, now_ns));
    }
    return SnapshotAccess::make(std::move(blocks), first, last, list.unrecorded);
}

} // namespace heapmark
