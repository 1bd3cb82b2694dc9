// SPDX-License-Identifier: BSL-1.0
// Every live block of the program, read from the record while other threads are stopped: on pages of its own.
#pragma once

#include "platform/page_vector.hpp"

#include <heapmark/heapmark.hpp>

#include <cstdint>

namespace heapmark::snapshot {

/// A block of the heap, as the search for holders sees it.
struct Extent {
    std::uintptr_t begin;           ///< a multiple of 16; no two blocks begin in the same 32 bytes
    std::uint64_t bytes : 48;       ///< that a pointer may point into: what was asked for, at least 1
    std::uint64_t slack_bytes : 16; ///< behind them, which may hold pointers as well

    [[nodiscard]] std::uintptr_t end() const noexcept { return begin + bytes; }
    [[nodiscard]] std::uintptr_t content_end() const noexcept { return begin + bytes + slack_bytes; }
};

enum class HeapState : std::uint8_t {
    whole,
    in_realloc, ///< a thread is between the two births of a realloc, whose block is in the list as it was before
    out_of_memory,
};

/// Fills `blocks`, ordered by address, with all but heapmark's own.
[[nodiscard]] HeapState read_heap_blocks(platform::PageVector<Extent>& blocks) noexcept;

/// The live block that starts there now; its address is nullptr when none does, or one of heapmark's own.
[[nodiscard]] Block live_block_at(std::uintptr_t address) noexcept;

/// Whether a block of heapmark's own, of that requested size, starts there.
[[nodiscard]] bool is_own_block(std::uintptr_t address, std::size_t requested_bytes) noexcept;

} // namespace heapmark::snapshot
