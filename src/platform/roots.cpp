// SPDX-License-Identifier: BSL-1.0
#include "platform/roots.hpp"

#include "platform/annotated_roots.hpp"
#include "platform/next_symbol.hpp"
#include "platform/raw_syscall.hpp"

#include <algorithm>
#include <sys/syscall.h>

namespace heapmark::platform {
namespace {

/// Of a stack whose end is not known; mappings next to it may have become one with it.
constexpr std::uintptr_t unknown_stack_bytes = std::uintptr_t{64} << 20;

constexpr Root root_of(MemoryRange range, RootKind kind, const ThreadContext& thread) noexcept
{
    return {range.begin, range.end, kind, false, thread.thread, thread.system_id};
}

/// The C library's data segments hold its allocator's lists of free memory, when that is the one in use.
MemoryRange allocator_data(const PageVector<MemoryRange>& segments) noexcept
{
    for (const link_map* module = _r_debug.r_map; module != nullptr; module = module->l_next) {
        const void* function = function_in(*module, "__libc_malloc");
        if (function == nullptr) continue;
        // The segment that follows the code is its module's.
        const auto code = reinterpret_cast<std::uintptr_t>(function);
        const MemoryRange* nearest = nullptr;
        for (const MemoryRange& segment : segments)
            if (segment.begin > code && (nearest == nullptr || segment.begin < nearest->begin)) nearest = &segment;
        return nearest == nullptr ? MemoryRange{0, 0} : *nearest;
    }
    return {0, 0};
}

} // namespace

bool RootCollector::add_readable(MemoryRange range, Root root) noexcept
{
    for (const MemoryRegion& region : regions_) {
        if (!region.readable || region.end <= range.begin || region.begin >= range.end) continue;
        root.begin = std::max(range.begin, region.begin);
        root.end = std::min(range.end, region.end);
        if (!add(root)) return false;
    }
    return true;
}

bool RootCollector::add_modules(std::span<const MemoryRange> own) noexcept
{
    PageVector<MemoryRange> segments;
    PageVector<MemoryRange> records;
    if (!read_module_data(segments, records)) return false;
    const MemoryRange allocator = allocator_data(segments);
    for (const MemoryRange& segment : segments) {
        const bool of_allocator = segment.begin == allocator.begin;
        std::uintptr_t begin = segment.begin;
        for (const MemoryRange& table : own) {
            if (table.begin < begin || table.end > segment.end) continue;
            if (!add_readable({begin, table.begin}, {0, 0, RootKind::data, of_allocator, 0, 0})) return false;
            begin = table.end;
        }
        if (!add_readable({begin, segment.end}, {0, 0, RootKind::data, of_allocator, 0, 0})) return false;
    }
    for (const MemoryRange& record : records)
        if (!add_readable(record, {0, 0, RootKind::loader, false, 0, 0})) return false;
    return true;
}

bool RootCollector::add_stack(const ThreadContext& thread, MemoryRange block) noexcept
{
    const std::uintptr_t begin = thread.stack_begin;
    MemoryRange own{thread.stack.low, thread.stack.high};
    // Where the C library put the thread's storage on top of its stack, that is told of apart.
    const std::uintptr_t storage = thread.thread_pointer - layout_.static_tls_bytes;
    if (storage > own.begin && storage < own.end) own.end = storage;

    if (begin >= own.begin && begin < own.end) {
        own.begin = begin;
        return add_readable(own, root_of(own, RootKind::stack, thread));
    }
    // On another stack: a fiber's, a signal's, or of a thread that heapmark has not seen. How much of the thread's own
    // one is in use then is not known.
    if (!add_readable(own, root_of(own, RootKind::stack, thread))) return false;
    MemoryRange other{begin, begin};
    if (block.begin != block.end)
        other.end = block.end;
    else if (const MemoryRegion* region = region_at(regions_, begin))
        other.end = std::min(region->end, begin + unknown_stack_bytes);
    return add_readable(other, root_of(other, RootKind::stack, thread));
}

bool RootCollector::add_thread(const ThreadContext& thread, MemoryRange block) noexcept
{
    if (!add_stack(thread, block)) return false;
    const auto registers = reinterpret_cast<std::uintptr_t>(thread.registers);
    if (!add(root_of({registers, registers + sizeof thread.registers}, RootKind::registers, thread))) return false;
    if (!add(root_of({thread.vectors_begin, thread.vectors_end}, RootKind::registers, thread))) return false;

    const std::uintptr_t pointer = thread.thread_pointer;
    const MemoryRange storage{pointer - layout_.static_tls_bytes, pointer};
    const MemoryRange descriptor{pointer, pointer + layout_.descriptor_bytes};
    const MemoryRange vector = dynamic_tls_vector(pointer);
    if (!add_readable(storage, root_of(storage, RootKind::thread_storage, thread))) return false;
    if (!add_readable(descriptor, root_of(descriptor, RootKind::thread_key, thread))) return false;
    if (!add_readable(vector, root_of(vector, RootKind::thread_storage, thread))) return false;

    const LiveThread* live = thread.live == 0 ? nullptr : live_thread(thread.live);
    if (live == nullptr) return true;
    const auto argument = reinterpret_cast<std::uintptr_t>(&live->argument);
    return add(root_of({argument, argument + sizeof live->argument}, RootKind::thread_argument, thread));
}

bool RootCollector::add_unstopped(const UnstoppedThread& thread) noexcept
{
    for (LiveThreadIndex index = 1; const LiveThread* live = live_thread(index); ++index) {
        if (live->system_id.load(std::memory_order_acquire) != thread.system_id) continue;
        ThreadContext context;
        context.system_id = thread.system_id;
        context.thread = live->thread.load(std::memory_order_relaxed);
        const MemoryRange stack{live->stack_low.load(std::memory_order_relaxed),
                                live->stack_high.load(std::memory_order_relaxed)};
        const auto argument = reinterpret_cast<std::uintptr_t>(&live->argument);
        return add_readable(stack, root_of(stack, RootKind::stack, context)) &&
               add(root_of({argument, argument + sizeof live->argument}, RootKind::thread_argument, context));
    }
    return true;
}

bool RootCollector::add_starting_threads() noexcept
{
    const auto process = static_cast<int>(raw_syscall(SYS_getpid));
    for (LiveThreadIndex index = 1; const LiveThread* live = live_thread(index); ++index) {
        if (live->process.load(std::memory_order_acquire) != process || live->system_id.load() != 0) continue;
        const auto argument = reinterpret_cast<std::uintptr_t>(&live->argument);
        if (!add({argument, argument + sizeof live->argument, RootKind::thread_argument, false, 0, 0})) return false;
    }
    return true;
}

bool RootCollector::add_annotated() noexcept
{
    for (std::uint32_t index = 0; const AnnotatedRoot* root = annotated_root(index); ++index) {
        const std::uintptr_t begin = root->begin.load(std::memory_order_acquire);
        if (begin == 0) continue;
        const MemoryRange range{begin, root->end.load(std::memory_order_relaxed)};
        if (!add_readable(range, {0, 0, RootKind::annotated, false, 0, 0, root->name.load(std::memory_order_relaxed)}))
            return false;
    }
    return true;
}

bool RootCollector::list_added(PageVector<MemoryRange>& ranges) const noexcept
{
    for (const Root& root : roots_)
        if (root.end - root.begin > sizeof(std::uintptr_t) && !ranges.push_back({root.begin, root.end})) return false;
    return true;
}

PageVector<Root>& RootCollector::sorted() noexcept
{
    std::sort(roots_.begin(), roots_.end(),
              [](const Root& a, const Root& b) { return a.kind != b.kind ? a.kind < b.kind : a.begin < b.begin; });
    return roots_;
}

} // namespace heapmark::platform
