// SPDX-License-Identifier: BSL-1.0
// What every overridden function does around the call it forwards.
#pragma once

#include "capture/capture.hpp"
#include "heapmark/fwd.hpp"
#include "record/depot.hpp"
#include "record/faults.hpp"
#include "record/recorder.hpp"

namespace heapmark::interpose {

/// What an allocation function is to the record.
struct Door {
    Api api;
    record::Kind kind;
    std::uint8_t alignment_log2 = 0; ///< asked for; 0: the function's own
};

/// What a release function promises about the block it is given.
struct Release {
    const char* name;
    record::Kind kind;                       ///< of the doors it belongs to
    std::size_t stated_bytes = unstated;     ///< size that a sized release names
    std::size_t stated_alignment = unstated; ///< alignment that an aligned release names
    static constexpr std::size_t unstated = ~std::size_t{0};
};

/// Records a block that the allocator underneath has just handed out.
void record_birth(void* block, std::size_t requested_bytes, Door door, const capture::Caller& caller) noexcept;

/// Records a release, to be called before the memory is given back. False: it must not be given back.
[[nodiscard]] bool record_death(void* block, const Release& release, const capture::Caller& caller) noexcept;

/// realloc and its relatives for a block that is not nullptr: forwards and records.
void* resize(void* block, std::size_t requested_bytes, Api api, const capture::Caller& caller) noexcept;

/// Depot id of the stack at `caller`.
std::uint32_t site_of(platform::ThreadState& thread, const capture::Caller& caller, record::SiteKey key) noexcept;

/// Sets up the calling thread's state, once; `parent` is the ThreadId of the thread that started it, or 0.
void attach_thread(platform::ThreadState& thread, std::uint32_t parent) noexcept;

} // namespace heapmark::interpose
