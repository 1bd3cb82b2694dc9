// SPDX-License-Identifier: BSL-1.0
// Whether the overrides are in force, found by trying.
#include "record/depot.hpp"
#include "record/recorder.hpp"

#include <heapmark/heapmark.hpp>

#include <cstddef>
#include <cstdlib>
#include <new>

// <sanitizer/allocator_interface.h>: there when a sanitizer has replaced the allocator.
extern "C" __attribute__((weak)) std::size_t __sanitizer_get_heap_size(); // NOLINT(bugprone-reserved-identifier)

namespace heapmark {
namespace {

/// Whether the map has the birth of the block at, or around, this address; `stacked` becomes whether it has a stack.
bool is_recorded(void* block, bool& stacked) noexcept
{
    record::Sizes sizes;
    record::Entry entry = record::find_block(block, sizes);
    // A program's own operator new may keep something of its own in front of what it returns.
    if (!is_live(entry.kind()))
        if (const std::uintptr_t around = record::block_around(reinterpret_cast<std::uintptr_t>(block)))
            entry = record::find_block(reinterpret_cast<void*>(around), sizes); // NOLINT(performance-no-int-to-ptr)
    const record::Site* site = record::site(entry.site());
    stacked = site != nullptr && site->depth_frames > 0;
    return is_live(entry.kind());
}

} // namespace

Status status() noexcept
{
    Status status;
    bool malloc_stack = false;
    bool new_stack = false;
    // volatile: compilers remove pairs that they can see both ends of.
    void* volatile from_malloc = std::malloc(24);
    status.malloc_recorded = from_malloc != nullptr && is_recorded(from_malloc, malloc_stack);
    std::free(from_malloc);
    void* volatile from_new = ::operator new(24, std::nothrow);
    status.new_recorded = from_new != nullptr && is_recorded(from_new, new_stack);
    ::operator delete(from_new);

    status.stacks = malloc_stack;
    status.unrecorded = record::unrecorded_count();
    status.unstacked = record::unstacked_count();
    if (!status.malloc_recorded && __sanitizer_get_heap_size != nullptr)
        status.problem =
            "malloc is a sanitizer's: build without -fsanitize=address, leak, memory or thread to use heapmark";
    else if (!status.malloc_recorded)
        status.problem = "malloc is not heapmark's: link heapmark::heapmark into the program itself (not only into a "
                         "library of it), or preload libheapmark_preload.so";
    else if (!status.new_recorded)
        status.problem = "operator new is not recorded: the program replaces it with one that does not call malloc";
    else if (!status.stacks)
        status.problem = "stacks are empty: the caller's code has no unwind tables; build it with -funwind-tables";
    else if (status.unrecorded != 0)
        status.problem =
            "some allocations could not be recorded: address space or memory ran out; raise the limit (ulimit -v)";
    else if (status.unstacked != 0)
        status.problem = "some allocations have no stack: the stack depot is full; lower depth in HEAPMARK_OPTIONS";
    return status;
}

bool active() noexcept
{
    const Status now = status();
    return now.malloc_recorded && now.new_recorded;
}

} // namespace heapmark
