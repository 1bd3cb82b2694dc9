// SPDX-License-Identifier: BSL-1.0
#include "analyse/annotated_types.hpp"

#include "analyse/immortal_text.hpp"

#include <atomic>
#include <unordered_map>

namespace heapmark::analyse {
namespace {

struct NamedBlock {
    Block birth;
    std::string_view type;
};

struct Table {
    std::unordered_map<const void*, NamedBlock, std::hash<const void*>, std::equal_to<>,
                       MallocAllocator<std::pair<const void* const, NamedBlock>>>
        blocks;
    ImmortalText texts;
    std::size_t worth_dropping = 1024; ///< entries
};

constinit std::atomic<bool> is_used{false};

bool is_same_birth(const Block& a, const Block& b) noexcept
{
    return a.address == b.address && a.generation == b.generation && a.thread == b.thread && a.size == b.size &&
           a.stack == b.stack;
}

} // namespace

void annotate_type(const Block& block, std::string_view type)
{
    const ColdLock<Table> lock;
    auto& table = immortal<Table>();
    table.blocks[block.address] = {block, table.texts.keep(type)};
    is_used.store(true, std::memory_order_release);
}

std::string_view annotated_type(const Block& block)
{
    if (!is_used.load(std::memory_order_acquire)) return {};
    const ColdLock<Table> lock;
    const auto& blocks = immortal<Table>().blocks;
    const auto found = blocks.find(block.address);
    return found != blocks.end() && is_same_birth(found->second.birth, block) ? found->second.type : std::string_view{};
}

void drop_dead_types(Block (*live_at)(const void* address))
{
    const ColdLock<Table> lock;
    auto& table = immortal<Table>();
    if (table.blocks.size() < table.worth_dropping) return;
    std::erase_if(table.blocks,
                  [&](const auto& entry) { return !is_same_birth(entry.second.birth, live_at(entry.first)); });
    table.worth_dropping = std::max<std::size_t>(1024, 2 * table.blocks.size());
}

} // namespace heapmark::analyse
