// SPDX-License-Identifier: BSL-1.0
// Elements found by an id, in chunks that are mapped when needed, never move and are never given back. Lock-free;
// async-signal-safe.
#pragma once

#include "platform/pages.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heapmark::platform {

/// Chunks of 2^ChunkBits zeroed elements; ids below 2^IdBits.
template <class Element, unsigned IdBits, unsigned ChunkBits>
class GrowingTable {
public:
    static constexpr std::uint32_t chunk_size = std::uint32_t{1} << ChunkBits;

    /// The element of `id`, its chunk made if need be; nullptr when it cannot be had.
    Element* slot(std::uint32_t id) noexcept
    {
        std::atomic<Element*>& chunk = chunks_[id >> ChunkBits];
        Element* elements = chunk.load(std::memory_order_acquire);
        if (elements == nullptr) {
            auto* made = static_cast<Element*>(map_pages(chunk_bytes));
            if (made == nullptr) return nullptr;
            if (chunk.compare_exchange_strong(elements, made, std::memory_order_acq_rel))
                elements = made;
            else
                unmap_pages(made, chunk_bytes);
        }
        return elements + (id & ((std::uint32_t{1} << ChunkBits) - 1));
    }

    /// The element of `id`; nullptr when its chunk was never made.
    Element* find(std::uint32_t id) noexcept
    {
        Element* elements = chunks_[id >> ChunkBits].load(std::memory_order_acquire);
        return elements == nullptr ? nullptr : elements + (id & ((std::uint32_t{1} << ChunkBits) - 1));
    }

private:
    static constexpr std::size_t chunk_bytes = sizeof(Element) << ChunkBits;
    std::atomic<Element*> chunks_[std::size_t{1} << (IdBits - ChunkBits)]{};
};

} // namespace heapmark::platform
