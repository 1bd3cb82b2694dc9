// SPDX-License-Identifier: BSL-1.0
// Resources that do not come from the heap, or not one by one: pools, arenas, file descriptors, GPU buffers, references.
//
//     heapmark::track(buffer, bytes, "gpu buffer");
//     ...
//     heapmark::untrack(buffer, "gpu buffer");
//     CHECK(heapmark::tracked(g).empty());
//
// They are kept apart from blocks, so a pool that cuts up a block of the heap is not counted twice; and outermost() leaves
// out pieces of pools that are pieces themselves.
#ifndef HEAPMARK_TRACK_HPP
#define HEAPMARK_TRACK_HPP

#include <heapmark/heapmark.hpp>

namespace heapmark {

// A resource is named by its kind (copied) and an id: an address, or a number made into one by handle(). All functions
// here: may be called from any thread, not from signal handlers; take a lock and allocate, some hundred nanoseconds.

/// A number, such as that of a file descriptor, as the id of a resource.
inline const void* handle(std::uintptr_t number) noexcept
{
    return reinterpret_cast<const void*>(number); // NOLINT(performance-no-int-to-ptr): never followed
}

/// A resource begins. False, and nothing happens, when one of that name exists.
/// Errors: throws std::bad_alloc.
bool track(const void* id, std::size_t bytes, const char* kind);

/// Its size changes; it keeps its generation and stack. False when there is none of that name.
bool resize(const void* id, std::size_t bytes, const char* kind);

/// It ends, and its references with it. False when there is none of that name.
bool untrack(const void* id, const char* kind);

/// Someone comes to share a tracked resource. The stack is kept until the release() with the same `holder`; with the
/// latest such retain where there are several. `holder` nullptr: nobody in particular.
/// False when there is no resource of that name. Errors: throws std::bad_alloc.
bool retain(const void* id, const char* kind, const void* holder = nullptr);

/// False when there is no such resource, or nothing of it was retained by that holder.
bool release(const void* id, const char* kind, const void* holder = nullptr);

/// Resources that began in `first`..`last` and have not ended.
/// Shape: a Block each: `address` the id, `size` the bytes, `tag` the kind, `api` Api::track.
[[nodiscard]] Snapshot tracked(Generation first = Generation{}, Generation last = Generation{~std::uint64_t{0}});

/// Those that do not lie inside another one of the snapshot: for bytes, which would otherwise be counted for a tracked pool
/// and once more for each piece of it. Of several at the same place with the same size the first is left.
/// Where ids are no addresses, what lies inside what means nothing: filter by kind before.
[[nodiscard]] Snapshot outermost(const Snapshot& resources);

/// References retained in `first`..`last` and not released.
/// Shape: a Block each: `address` the id of the resource, `size` 0, `tag` its kind, `stack` the retain's, `api` Api::retain.
[[nodiscard]] Snapshot references(Generation first = Generation{}, Generation last = Generation{~std::uint64_t{0}});

} // namespace heapmark

#endif
