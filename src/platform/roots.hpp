// SPDX-License-Identifier: BSL-1.0
// Where the program keeps pointers outside the heap: variables of modules, stacks, registers, thread-local storage.
// For a stopped world: own pages, nothing that takes a lock.
#pragma once

#include "platform/memory_regions.hpp"
#include "platform/module_data.hpp"
#include "platform/stop_world.hpp"
#include "platform/thread_layout.hpp"

#include <cstdint>
#include <span>

namespace heapmark::platform {

enum class RootKind : std::uint8_t {
    data,            ///< global and static variables
    thread_storage,  ///< thread_local variables
    thread_key,      ///< pthread_setspecific
    thread_argument, ///< of a thread's function
    stack,
    registers,
    annotated, ///< named by the program
    loader,    ///< the dynamic loader's and the C library's own records
};

struct Root {
    std::uintptr_t begin;
    std::uintptr_t end;
    RootKind kind;
    bool of_allocator;      ///< data of the module that the allocator is in
    std::uint32_t thread;   ///< ThreadId, or 0
    int system_id;          ///< of the thread, or 0
    std::uint32_t name = 0; ///< annotated: id of its text
};

class RootCollector {
public:
    /// `layout`: found before the world was stopped.
    RootCollector(const ThreadLayout& layout, const PageVector<MemoryRegion>& regions) noexcept
        : layout_(layout), regions_(regions)
    {}

    /// Variables of all modules, without what lies in `own` (ordered by address): heapmark's own tables.
    [[nodiscard]] bool add_modules(std::span<const MemoryRange> own) noexcept;
    /// Stack from its stack pointer up, registers, thread-local storage and what else belongs to the thread.
    /// `block`: what the stack pointer points into, when that is a block of the heap; a fiber may run in one.
    [[nodiscard]] bool add_thread(const ThreadContext& thread, MemoryRange block) noexcept;
    /// All that may be in use of a thread that did not stop.
    [[nodiscard]] bool add_unstopped(const UnstoppedThread& thread) noexcept;
    /// Arguments of threads that are about to run.
    [[nodiscard]] bool add_starting_threads() noexcept;
    /// Those that the program named.
    [[nodiscard]] bool add_annotated() noexcept;
    [[nodiscard]] bool add(const Root& root) noexcept { return root.begin >= root.end || roots_.push_back(root); }

    /// What has been added so far, but for roots that are single words.
    [[nodiscard]] bool list_added(PageVector<MemoryRange>& ranges) const noexcept;
    /// Ordered by kind: what explains more comes first.
    [[nodiscard]] PageVector<Root>& sorted() noexcept;

private:
    [[nodiscard]] bool add_readable(MemoryRange range, Root root) noexcept;
    [[nodiscard]] bool add_stack(const ThreadContext& thread, MemoryRange block) noexcept;

    ThreadLayout layout_;
    const PageVector<MemoryRegion>& regions_;
    PageVector<Root> roots_;
};

} // namespace heapmark::platform
