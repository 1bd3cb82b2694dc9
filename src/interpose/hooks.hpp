// SPDX-License-Identifier: BSL-1.0
// What every overridden function does around the call it forwards.
#pragma once

#include "capture/known_stacks.hpp"
#include "interpose/underlying.hpp"
#include "platform/slow_paths.hpp"
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

/// What a release function is to the record.
struct Exit {
    const char* name;
    record::Kind kind; ///< of the doors it belongs to
};

/// What a sized or an aligned release says of the block it is given.
using record::unstated;
struct Stated {
    std::size_t bytes = unstated;
    std::size_t alignment = unstated;
};

/// Records a block that the allocator underneath has just handed out; `was_resized`: by a realloc of a block.
void record_birth(void* block, std::size_t requested_bytes, Door door, const void* frame,
                  bool was_resized = false) noexcept;

/// record_birth() of a block of glibc's, at a stack that the thread has seen before.
/// False where it takes longer: then nothing has happened.
[[gnu::always_inline]] inline bool record_birth_quickly(void* block, std::size_t requested_bytes, Door door,
                                                        const void* frame) noexcept
{
    platform::ThreadState& thread = platform::thread_state;
    capture::KnownStacks* const known = thread.known_stacks;
    if (known == nullptr || (thread.guard_depth | thread.ignore_depth) != 0 || platform::has_slow_reasons())
        [[unlikely]]
        return false;
    const record::SiteKey key{door.api, door.alignment_log2, thread.tag};
    const std::uint32_t site = known->find(capture::caller_of(frame), key.word());
    return site != record::no_site &&
           record::plain_birth(thread, block, {requested_bytes, glibc_usable_bytes(block)}, door.kind, site);
}

/// What the allocator underneath gave, recorded if it is a block.
[[gnu::always_inline]] inline void* recorded(void* block, std::size_t requested_bytes, Door door,
                                             const void* frame) noexcept
{
    if (block != nullptr && !record_birth_quickly(block, requested_bytes, door, frame))
        record_birth(block, requested_bytes, door, frame);
    return block;
}

void clear(void* block, std::size_t requested_bytes) noexcept;

/// recorded(), of memory of which nobody has said what it contains.
[[gnu::always_inline]] inline void* born(void* block, std::size_t requested_bytes, Door door,
                                         const void* frame) noexcept
{
    recorded(block, requested_bytes, door, frame);
    if (record::clears_new_blocks.load(std::memory_order_relaxed)) [[unlikely]]
        clear(block, requested_bytes);
    return block;
}

/// Records a release of any sort and, unless it was a wrong one that would harm, gives the memory back. Keeps errno.
void release_slowly(void* block, const Exit& exit, Stated stated, const void* frame) noexcept;

/// Records a release and gives the memory back. Keeps errno (POSIX.1-2024 asks it of free).
template <const Exit& TheExit>
[[gnu::always_inline]] inline void release(void* block, Stated stated, const void* frame) noexcept
{
    if (block == nullptr) return;
    // glibc's free keeps errno itself since 2.33.
    if (platform::has_slow_reasons() || stated.alignment != unstated ||
        !record::plain_death(platform::thread_state, block, TheExit.kind, stated.bytes)) [[unlikely]] {
        release_slowly(block, TheExit, stated, frame);
        __asm__ volatile(""); // not as a jump, which would give up the frame that it is told of
        return;
    }
    underlying.free(block); // as a jump: nothing is left to do here
}

/// realloc and its relatives for a block that is not nullptr: forwards and records.
void* resize(void* block, std::size_t requested_bytes, Api api, const void* frame) noexcept;

/// Depot id of the stack above the function of that frame, called `api`; record::internal_site for heapmark's own code.
std::uint32_t caller_site(platform::ThreadState& thread, const void* frame, Api api) noexcept;

/// Sets up the calling thread's state, once; `parent` is the ThreadId of the thread that started it, or 0.
/// `generation` is the one it was started in, not that in which it first runs.
void attach_thread(platform::ThreadState& thread, std::uint32_t parent,
                   std::uint32_t generation = record::clock.generation()) noexcept;

} // namespace heapmark::interpose
