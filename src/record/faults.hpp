// SPDX-License-Identifier: BSL-1.0
// Wrong releases: counted without end, the first of them kept with their stacks. Lock-free; async-signal-safe.
#pragma once

#include "record/entry.hpp"
#include <heapmark/fwd.hpp>

#include <atomic>

namespace heapmark::record {

enum class FaultKind : std::uint8_t { mismatched_release, double_free, unknown_free };
inline constexpr std::size_t fault_kinds = 3;
enum class Mismatch : std::uint8_t { none, function, size, alignment };

struct FaultDetail {
    FaultKind kind{};
    Mismatch mismatch{};
    std::uint32_t thread = 0;
    const char* released_by = "";
    std::uintptr_t address = 0;
    std::size_t stated = 0;
    std::uint32_t release_site = 0;   ///< depot id of the stack of the release
    Entry birth;                      ///< the empty entry when the map had none
    std::uintptr_t birth_address = 0; ///< differs from `address` when that points inside the block
    Sizes birth_sizes;
};

inline constexpr std::size_t kept_faults = 256;

void count_fault(FaultKind kind) noexcept;
std::uint64_t fault_count(FaultKind kind) noexcept;

/// Keeps a detail of a counted fault if there is room.
void keep_fault(const FaultDetail& detail) noexcept;

/// Called for each kept or counted fault when set; it may end the process.
extern constinit std::atomic<void (*)(const FaultDetail&)> fault_listener;

/// The detail of index 0..kept_faults - 1, oldest first; nullptr where there is none (yet).
const FaultDetail* kept_fault(std::size_t index) noexcept;

} // namespace heapmark::record
