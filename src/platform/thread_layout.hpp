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
    /// Pointers to the blocks of thread-specific values, from the thread pointer up; none where that is not known.
    std::size_t key_blocks_offset = 0;
    std::size_t key_blocks_count = 0;
};

/// As the C library and the loader tell; safe guesses where they do not. Reads the loader's tables without a lock.
ThreadLayout find_thread_layout() noexcept;

/// The part of a thread's storage that a word belongs to: all of one module's variables, or a block of specific values.
struct StoragePlace {
    std::uintptr_t area = 0;   ///< where the part begins; 0: in none
    std::size_t number = 0;    ///< id of the module, or the key of the block's first value
    bool points_there = false; ///< the word is the thread's pointer to the part
};

/// For a stopped thread. Where the part ends is for the caller to check.
StoragePlace find_module_storage(std::uintptr_t thread_pointer, std::uintptr_t word) noexcept;
StoragePlace find_key_storage(const ThreadLayout& layout, std::uintptr_t thread_pointer, std::uintptr_t word) noexcept;

inline constexpr std::size_t key_value_bytes = 16; ///< a count and the value
inline constexpr std::size_t keys_in_block = 32;

/// The vector of addresses of a thread's dynamic thread-local storage; empty when it cannot be read.
MemoryRange dynamic_tls_vector(std::uintptr_t thread_pointer) noexcept;

} // namespace heapmark::platform
