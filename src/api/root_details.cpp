// SPDX-License-Identifier: BSL-1.0
// For a stopped world: no heap, no lock.
#include "api/root_details.hpp"

#include "capture/full_unwind.hpp"
#include "platform/safe_read.hpp"

#include <cstring>

namespace heapmark {
namespace {

namespace arch = capture::arch;
using platform::RootKind;
using platform::ThreadContext;

constexpr std::size_t detail_limit = 256;

/// A thread at rest, as the unwinder wants it.
struct Walk {
    capture::RegisterFile registers{};
    bool returns_there = false;
};

/// explain() left the kept registers of its caller at the beginning of the stack, then its return address.
Walk walk_of_caller(const ThreadContext& thread) noexcept
{
    constexpr unsigned pushed[] = {15, 14, 13, 12, arch::frame_register, 3, arch::return_register};
    Walk walk;
    walk.returns_there = true;
    std::uint64_t words[std::size(pushed)];
    std::memcpy(words, reinterpret_cast<const void*>(thread.stack_begin), sizeof words); // NOLINT
    for (std::size_t i = 0; i < std::size(pushed); ++i) walk.registers.set(pushed[i], words[i]);
    walk.registers.set(arch::stack_register, thread.stack_begin + sizeof words);
    return walk;
}

/// ThreadContext::registers are ordered as the system's: r8 to r15, then these; the tables number them their own way.
Walk walk_of_stopped(const ThreadContext& thread) noexcept
{
    constexpr unsigned numbers[ThreadContext::register_count] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7};
    Walk walk;
    for (unsigned i = 0; i < ThreadContext::register_count; ++i) walk.registers.set(numbers[i], thread.registers[i]);
    walk.registers.set(arch::return_register, thread.code_address);
    return walk;
}

} // namespace

void find_root_details(std::span<RootDetail> details, std::span<const platform::Root> roots,
                       const platform::ThreadLayout& layout, const ThreadContext& own_thread,
                       std::span<const ThreadContext> others) noexcept
{
    for (RootDetail& detail : details.first(std::min(details.size(), detail_limit))) {
        const platform::Root& root = roots[detail.root];
        const ThreadContext* thread = root.system_id == own_thread.system_id ? &own_thread : nullptr;
        for (const ThreadContext& other : others)
            if (other.system_id == root.system_id) thread = &other;
        if (thread == nullptr) continue;
        const std::uintptr_t word = (root.begin & ~(sizeof(std::uintptr_t) - 1)) + detail.offset;
        const bool is_own = thread == &own_thread;
        if (root.kind == RootKind::stack || (root.kind == RootKind::registers && !is_own)) {
            const Walk walk = is_own ? walk_of_caller(*thread) : walk_of_stopped(*thread);
            // A register belongs to the innermost frame.
            const std::uintptr_t place = root.kind == RootKind::registers ? thread->stack_begin : word;
            detail.frame = capture::frame_that_holds(place, walk.registers, walk.returns_there, thread->stack_begin,
                                                     thread->stack);
        } else if (root.kind == RootKind::thread_storage) {
            detail.storage = platform::find_module_storage(thread->thread_pointer, word);
        } else if (root.kind == RootKind::thread_key) {
            detail.storage = platform::find_key_storage(layout, thread->thread_pointer, word);
        }
    }
}

} // namespace heapmark
