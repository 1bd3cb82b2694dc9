// SPDX-License-Identifier: BSL-1.0
// What every overridden function does around the call it forwards.
#pragma once

#include "capture/capture.hpp"
#include "interpose/underlying.hpp"
#include "record/depot.hpp"
#include "record/faults.hpp"
#include "record/recorder.hpp"
#include <heapmark/fwd.hpp>

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
void record_birth(void* block, std::size_t requested_bytes, Door door, const void* frame) noexcept;

/// Records a release of any sort and, unless it was a wrong one that would harm, gives the memory back. Keeps errno.
void release_slowly(void* block, const Release& how, const void* frame) noexcept;

/// Records a release and gives the memory back. Keeps errno (POSIX.1-2024 asks it of free).
[[gnu::always_inline]] inline void release(void* block, const Release& how, const void* frame) noexcept
{
    if (block == nullptr) return;
    // glibc's free keeps errno itself since 2.33.
    if (!underlying.glibc || how.stated_alignment != Release::unstated ||
        !record::plain_death(platform::thread_state, block, how.kind, how.stated_bytes, Release::unstated)) [[unlikely]]
        return release_slowly(block, how, frame);
    underlying.free(block);
}

/// realloc and its relatives for a block that is not nullptr: forwards and records.
void* resize(void* block, std::size_t requested_bytes, Api api, const void* frame) noexcept;

/// Sets up the calling thread's state, once; `parent` is the ThreadId of the thread that started it, or 0.
/// `generation` is the one it was started in, not that in which it first runs.
void attach_thread(platform::ThreadState& thread, std::uint32_t parent,
                   std::uint32_t generation = record::clock.generation()) noexcept;

} // namespace heapmark::interpose
