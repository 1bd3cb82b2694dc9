// SPDX-License-Identifier: BSL-1.0
// The allocator underneath: the next definition of malloc after ours, be it glibc, jemalloc, tcmalloc or mimalloc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapmark::interpose {

/// Starts out with functions that find the real ones and then call them.
struct Underlying {
    void* (*malloc)(std::size_t);
    void (*free)(void*) noexcept; ///< so that free can end with a jump there
    void* (*calloc)(std::size_t, std::size_t);
    void* (*realloc)(void*, std::size_t);
    void* (*memalign)(std::size_t, std::size_t);
    void* (*aligned_alloc)(std::size_t, std::size_t);
    std::size_t (*usable_size)(void*);
    bool glibc; ///< its chunk headers may be read
};

extern constinit Underlying underlying;

/// What record::keep_released does: takes the place of the free underneath, so that it costs nothing when it is over.
void keep_released(bool yes) noexcept;

/// Blocks closer than a granule cannot both be recorded: what an allocator that packs more tightly is asked for.
inline std::size_t padded(std::size_t requested_bytes) noexcept
{
    return underlying.glibc || requested_bytes >= 32 ? requested_bytes : 32;
}

/// Asks an allocator that is not glibc; `requested_bytes`, rounded up, when it is just being asked by this
/// thread.
std::size_t asked_usable_bytes(void* block, std::size_t requested_bytes) noexcept;

/// Of a block of glibc's.
inline std::size_t glibc_usable_bytes(void* block) noexcept
{
#if defined(__x86_64__)
    // glibc's malloc.c, "malloc_chunk": the word before a block is its chunk's size with three flags below; bit 1
    // says that it was mapped, so that no following chunk lends its first word.
    const std::size_t header = static_cast<const std::size_t*>(block)[-1];
    return (header & ~std::size_t{7}) - 8 - (header & 2) * 4;
#else
    return underlying.usable_size(block);
#endif
}

inline std::size_t usable_bytes(void* block, std::size_t requested_bytes) noexcept
{
    return underlying.glibc ? glibc_usable_bytes(block) : asked_usable_bytes(block, requested_bytes);
}

/// Whether the allocator underneath may have handed out `block` unseen, so that giving it back is no wild guess.
/// True when it cannot be told. Reads memory with care.
bool may_own(const void* block) noexcept;

} // namespace heapmark::interpose
