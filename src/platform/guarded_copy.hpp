// SPDX-License-Identifier: BSL-1.0
// Copies memory that may go away while it is read. Unlike safe_read it needs no probe, so it costs what a copy costs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapmark::platform {

/// While one lives, a fault inside guarded_copy() ends the copy instead of the process; faults elsewhere go where they
/// went before. One at a time in a process.
class FaultGuard {
public:
    FaultGuard() noexcept;
    ~FaultGuard();
    FaultGuard(const FaultGuard&) = delete;
    FaultGuard& operator=(const FaultGuard&) = delete;
};

/// Copies `words` words, stopping before the first that cannot be read. Returns how many were copied.
/// The caller's thread holds a FaultGuard.
std::size_t guarded_copy(std::uintptr_t* to, std::uintptr_t from, std::size_t words) noexcept;

} // namespace heapmark::platform
