// SPDX-License-Identifier: BSL-1.0
// Bump allocation without a lock.
#include "record/arena.hpp"

#include "base/bits.hpp"
#include "platform/pages.hpp"

#include <atomic>

namespace heapmark::record {
namespace {

struct alignas(16) Chunk {
    std::atomic<std::size_t> used;
};
constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

constinit std::atomic<Chunk*> current_chunk{nullptr};

} // namespace

void* allocate_for_ever(std::size_t bytes) noexcept
{
    bytes = base::round_up(bytes, 16);
    if (bytes > chunk_bytes - sizeof(Chunk)) return platform::map_pages(bytes);
    for (;;) {
        Chunk* chunk = current_chunk.load(std::memory_order_acquire);
        if (chunk != nullptr) {
            const std::size_t offset = chunk->used.fetch_add(bytes, std::memory_order_relaxed);
            if (offset + bytes <= chunk_bytes) return reinterpret_cast<char*>(chunk) + offset;
        }
        auto* made = static_cast<Chunk*>(platform::map_pages(chunk_bytes));
        if (made == nullptr) return nullptr;
        made->used.store(sizeof(Chunk), std::memory_order_relaxed);
        // The rest of the full chunk is left: at most one record of a megabyte.
        if (!current_chunk.compare_exchange_strong(chunk, made, std::memory_order_acq_rel))
            platform::unmap_pages(made, chunk_bytes);
    }
}

} // namespace heapmark::record
