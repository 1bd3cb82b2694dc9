// SPDX-License-Identifier: BSL-1.0
// Memory that the program names as a place where it keeps pointers.
#pragma once

#include "platform/module_data.hpp"

#include <atomic>
#include <cstdint>

namespace heapmark::platform {

struct AnnotatedRoot {
    std::atomic<bool> claimed;
    std::atomic<std::uintptr_t> begin; ///< 0: not in force
    std::atomic<std::uintptr_t> end;
    std::atomic<std::uint32_t> name; ///< id of a text
};

/// False without memory. Lock-free; async-signal-safe.
bool add_annotated_root(MemoryRange range, std::uint32_t name) noexcept;

/// Takes back one root that begins there; false when there is none.
bool remove_annotated_root(std::uintptr_t begin) noexcept;

/// For a stopped world: slots in use and not; nullptr beyond the last one ever claimed.
const AnnotatedRoot* annotated_root(std::uint32_t index) noexcept;

} // namespace heapmark::platform
