// SPDX-License-Identifier: BSL-1.0
// The thread registry.
#include "record/threads.hpp"

#include "record/arena.hpp"

namespace heapmark::record {
namespace {

constexpr unsigned thread_id_bits = 22;

constinit std::atomic<std::uint32_t> next_id{1};
constinit Table<Thread, thread_id_bits, 10> threads{};

} // namespace

std::uint32_t add_thread(std::uint32_t parent, std::uint32_t generation) noexcept
{
    if (next_id.load(std::memory_order_relaxed) >> thread_id_bits != 0) return 0;
    const std::uint32_t id = next_id.fetch_add(1, std::memory_order_relaxed);
    Thread* thread = id >> thread_id_bits != 0 ? nullptr : threads.slot(id);
    if (thread == nullptr) return 0;
    *thread = {parent, generation};
    return id;
}

bool descends_from(std::uint32_t thread, std::uint32_t root, std::uint32_t since) noexcept
{
    if (thread == root) return true;
    // A parent always has the smaller number, so this ends. Whoever was started by root since then started the rest
    // of the chain later still.
    while (thread > root) {
        const Thread* record = threads.find(thread);
        if (record == nullptr) return false;
        if (record->parent == root) return record->generation >= since;
        thread = record->parent;
    }
    return false;
}

} // namespace heapmark::record
