// SPDX-License-Identifier: BSL-1.0
// Facts of glibc. _thread_db_sizeof_pthread is what libthread_db, and so every debugger, reads (nptl_db/structs.def);
// _dl_get_tls_static_info has told sanitizers the size of static TLS since 2003 (elf/dl-tls.c). The vector is laid out
// as the TLS ABI and sysdeps/generic/dl-dtv.h say: its length is in the element before the first.
#include "platform/thread_layout.hpp"

#include "platform/next_symbol.hpp"
#include "platform/safe_read.hpp"

namespace heapmark::platform {
namespace {

void* find_symbol(const char* name) noexcept
{
    for (const link_map* module = _r_debug.r_map; module != nullptr; module = module->l_next)
        if (void* address = function_in(*module, name)) return address;
    return nullptr;
}

} // namespace

ThreadLayout find_thread_layout() noexcept
{
    ThreadLayout layout{4096, 2560};
    if (const void* size = find_symbol("_thread_db_sizeof_pthread"))
        layout.descriptor_bytes = *static_cast<const std::uint32_t*>(size);
    if (void* function = find_symbol("_dl_get_tls_static_info")) {
        std::size_t bytes = 0;
        std::size_t alignment = 0;
        reinterpret_cast<void (*)(std::size_t*, std::size_t*)>(function)(&bytes, &alignment);
        // The loader's figure includes the descriptor.
        if (bytes > layout.descriptor_bytes) layout.static_tls_bytes = bytes - layout.descriptor_bytes;
    }
    return layout;
}

MemoryRange dynamic_tls_vector(std::uintptr_t thread_pointer) noexcept
{
    constexpr std::size_t element_bytes = 2 * sizeof(std::uintptr_t); // address, and what to free
    std::uintptr_t vector = 0; // tcbhead_t: the thread pointer itself, then the vector
    std::uintptr_t count = 0;
    if (!safe_read(reinterpret_cast<const void*>(thread_pointer + sizeof vector), &vector, sizeof vector))
        return {0, 0};
    if (vector % alignof(std::uintptr_t) != 0 ||
        !safe_read(reinterpret_cast<const void*>(vector - element_bytes), &count, sizeof count) || count > (1U << 20))
        return {0, 0};
    return {vector, vector + (count + 1) * element_bytes};
}

} // namespace heapmark::platform
