// SPDX-License-Identifier: BSL-1.0
// The table of generations.
#include "record/generations.hpp"

#include "platform/growing_table.hpp"
#include "platform/monotonic_clock.hpp"
#include "record/contexts.hpp"

namespace heapmark::record {
namespace {

struct GenerationInfo {
    std::atomic<std::uint64_t> marked_ns;
    std::atomic<TextId> name;
};

constinit platform::GrowingTable<GenerationInfo, 32, 16> generations{};

} // namespace

std::uint32_t mark(std::string_view name) noexcept
{
    const TextId text = intern_text(name);
    const std::uint32_t generation = clock.advance();
    if (GenerationInfo* info = generations.slot(generation)) {
        info->name.store(text, std::memory_order_relaxed);
        info->marked_ns.store(platform::monotonic_ns(), std::memory_order_release);
    }
    return generation;
}

void begin_first_generation() noexcept
{
    if (GenerationInfo* info = generations.slot(0)) {
        std::uint64_t unset = 0;
        info->marked_ns.compare_exchange_strong(unset, platform::monotonic_ns(), std::memory_order_release);
    }
}

std::uint64_t marked_ns(std::uint32_t generation) noexcept
{
    const GenerationInfo* info = generations.find(generation);
    return info == nullptr ? 0 : info->marked_ns.load(std::memory_order_acquire);
}

std::string_view name_of(std::uint32_t generation) noexcept
{
    const GenerationInfo* info = generations.find(generation);
    return info == nullptr ? std::string_view("") : text(info->name.load(std::memory_order_relaxed));
}

} // namespace heapmark::record
