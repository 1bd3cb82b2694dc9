// SPDX-License-Identifier: BSL-1.0
#include "api/mapped_roots.hpp"

#include <algorithm>

namespace heapmark {
namespace {

using analyse::Extent;
using platform::MemoryRange;

constexpr std::uintptr_t page_bytes = 4096;

/// Where freed memory may lie beside a block: it is full of stale words. A block that begins right behind a page's first
/// two words has a mapping of its own (glibc's malloc.c: the header of an mmapped chunk); any other lies in a pool, and
/// glibc's pools are 64 MB each and begin at a multiple of that (arena.c, HEAP_MAX_SIZE).
MemoryRange surroundings(const Extent& block) noexcept
{
    constexpr std::uintptr_t pool_bytes = std::uintptr_t{64} << 20;
    constexpr std::uintptr_t header_bytes = 16;
    if (block.begin % page_bytes == header_bytes)
        return {block.begin - header_bytes, (block.content_end() + page_bytes - 1) & ~(page_bytes - 1)};
    const std::uintptr_t pool = block.begin & ~(pool_bytes - 1);
    return {pool, std::max(pool + pool_bytes, block.content_end())};
}

} // namespace

bool without_known(std::span<const MemoryRange> mapped, std::span<const MemoryRange> known,
                   std::span<const Extent> blocks, platform::PageVector<MemoryRange>& left) noexcept
{
    platform::PageVector<MemoryRange> taken;
    for (const MemoryRange& range : known)
        if (!taken.push_back(range)) return false;
    for (std::size_t i = 0; i < blocks.size();) {
        const MemoryRange around = surroundings(blocks[i]);
        if (!taken.push_back(around)) return false;
        const auto begins_before = [](const Extent& block, std::uintptr_t address) { return block.begin < address; };
        const Extent* const next =
            std::lower_bound(blocks.data() + i + 1, blocks.data() + blocks.size(), around.end, begins_before);
        i = static_cast<std::size_t>(next - blocks.data());
    }
    std::sort(taken.begin(), taken.end(), [](MemoryRange a, MemoryRange b) { return a.begin < b.begin; });
    left.clear();
    for (const MemoryRange& range : mapped) {
        std::uintptr_t begin = range.begin;
        for (const MemoryRange& part : taken) {
            if (part.end <= begin || part.begin >= range.end) continue;
            if (part.begin > begin && !left.push_back({begin, part.begin})) return false;
            begin = std::max(begin, part.end);
        }
        if (begin < range.end && !left.push_back({begin, range.end})) return false;
    }
    return true;
}

} // namespace heapmark
