// SPDX-License-Identifier: BSL-1.0
// Memory that the program maps by itself: mmap, mremap and shmat, as blocks of their own kind. Included by heapmark.hpp.
//
//     HEAPMARK_OPTIONS=mappings=1
//
//     REQUIRE(heapmark::mappings_recorded());
//     auto g = heapmark::mark("load");
//     load();
//     CHECK(heapmark::mapped(g).empty());
#ifndef HEAPMARK_MAPPINGS_HPP
#define HEAPMARK_MAPPINGS_HPP

#include <heapmark/heapmark.hpp>

namespace heapmark {

/// Whether mappings are recorded: HEAPMARK_OPTIONS=mappings=1 was given, and heapmark is linked in or preloaded. Where they
/// are not, mapped() finds nothing, so a test that relies on it asks here first.
/// Threads: any; async-signal-safe.
[[nodiscard]] bool mappings_recorded() noexcept;

/// What was mapped in `first`..`last` and has not been unmapped. In no other snapshot, count or account.
/// Shape: a Block each: `size` bytes as asked for, `usable_size` whole pages, huge ones where it lies in those, `api`
/// Api::mmap, Api::mremap or Api::shmat. What is unmapped in part leaves a block for each piece, with the generation and
/// stack of the whole. What something else was mapped over is gone. mremap is, as realloc, a death and a birth; with
/// MREMAP_DONTUNMAP, or an old size of 0, a birth alone. Bytes are of addresses: pages that were never touched are in.
/// Left out: what heapmark, the allocator and the C library map for themselves (stacks of threads, loaded libraries), and
/// what is mapped by a system call of the program's own, by brk, or before heapmark is there.
/// Threads: a moment, in which no other thread maps anything; what is just being unmapped, or moved, may be missing.
/// Errors: Snapshot::unrecorded counts mappings that could not be recorded: memory ran out; the size of a segment could not
/// be told (shmctl refused); or the process was forked by _Fork or a system call while another thread was recording.
/// Heap path: allocates, so not in signal handlers. Throws std::bad_alloc. Cost: grows with the number of mappings.
[[nodiscard]] Snapshot mapped(Generation first = Generation{}, Generation last = Generation{~std::uint64_t{0}},
                              Ignored ignored = Ignored::leave_out);

} // namespace heapmark

#endif
