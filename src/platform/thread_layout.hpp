// SPDX-License-Identifier: BSL-1.0
// What the C library keeps of a thread outside its stack: descriptor, thread-local storage, thread-specific values.
#pragma once

#include "platform/module_data.hpp"

#include <cstddef>
#include <cstdint>

namespace heapmark::platform {

/// Sizes around a thread pointer.
struct ThreadLayout {
    std::size_t static_tls_bytes = 0; ///< below the thread pointer
    std::size_t descriptor_bytes = 0; ///< from it up
};

/// As the C library and the loader tell; safe guesses where they do not. Reads the loader's tables without a lock.
ThreadLayout find_thread_layout() noexcept;

/// The vector of addresses of a thread's dynamic thread-local storage; empty when it cannot be read.
MemoryRange dynamic_tls_vector(std::uintptr_t thread_pointer) noexcept;

} // namespace heapmark::platform
