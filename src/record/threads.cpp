// SPDX-License-Identifier: BSL-1.0
// The thread registry.
#include "record/threads.hpp"

#include "platform/growing_table.hpp"

namespace heapmark::record {
namespace {

constexpr unsigned thread_id_bits = 22;

constinit std::atomic<std::uint32_t> next_id{1};
constinit platform::GrowingTable<Thread, thread_id_bits, 10> threads{};

} // namespace

std::uint32_t add_thread(std::uint32_t parent, std::uint32_t generation) noexcept
{
    const std::uint32_t id = next_id.fetch_add(1, std::memory_order_relaxed);
    if (id >> thread_id_bits != 0) return id;
    if (Thread* thread = threads.slot(id)) *thread = {parent, generation};
    return id;
}

bool descends_from(std::uint32_t thread, std::uint32_t root, std::uint32_t since) noexcept
{
    if (thread == root) return true;
    // A parent always has the smaller number, so this ends. Whoever was started by root since then started the rest
    // of the chain later still.
    while (thread > root) {
        const Thread* record = thread >> thread_id_bits != 0 ? nullptr : threads.find(thread);
        if (record == nullptr) return false;
        if (record->parent == root) return record->generation >= since;
        thread = record->parent;
    }
    return false;
}

} // namespace heapmark::record
