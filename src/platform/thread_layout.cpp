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
    ThreadLayout layout{4096, 2560, 0, 0};
    if (const void* size = find_symbol("_thread_db_sizeof_pthread"))
        layout.descriptor_bytes = *static_cast<const std::uint32_t*>(size);
    // Each field: size in bits, of a whole array for some; count; offset (nptl_db/structs.def).
    const auto* blocks = static_cast<const std::uint32_t*>(find_symbol("_thread_db_pthread_specific"));
    const auto* values = static_cast<const std::uint32_t*>(find_symbol("_thread_db_pthread_key_data_level2_data"));
    const auto* value = static_cast<const std::uint32_t*>(find_symbol("_thread_db_pthread_key_data_data"));
    if (blocks != nullptr && values != nullptr && value != nullptr && blocks[0] % (8 * sizeof(void*)) == 0 &&
        values[0] == 8 * key_value_bytes && value[2] == key_value_bytes - sizeof(void*)) {
        layout.key_blocks_offset = blocks[2];
        layout.key_blocks_count = blocks[0] / (8 * sizeof(void*));
    }
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

StoragePlace find_module_storage(std::uintptr_t thread_pointer, std::uintptr_t word) noexcept
{
    constexpr std::size_t element_bytes = 2 * sizeof(std::uintptr_t);
    const MemoryRange vector = dynamic_tls_vector(thread_pointer);
    StoragePlace place;
    for (std::uintptr_t at = vector.begin + element_bytes; at < vector.end; at += element_bytes) {
        std::uintptr_t area = 0;
        if (!safe_read(reinterpret_cast<const void*>(at), &area, sizeof area)) break; // NOLINT
        if (area == 0 || area == ~std::uintptr_t{0}) continue;                        // not there in this thread
        const bool points_there = at == word;
        if (!points_there && (area > word || area <= place.area)) continue;
        place = {area, (at - vector.begin) / element_bytes, points_there};
        if (points_there) break;
    }
    return place;
}

StoragePlace find_key_storage(const ThreadLayout& layout, std::uintptr_t thread_pointer, std::uintptr_t word) noexcept
{
    const std::uintptr_t first = thread_pointer + layout.key_blocks_offset;
    for (std::size_t i = 0; i < layout.key_blocks_count; ++i) {
        const std::uintptr_t at = first + i * sizeof(std::uintptr_t);
        std::uintptr_t area = 0;
        if (!safe_read(reinterpret_cast<const void*>(at), &area, sizeof area)) break; // NOLINT
        if (area != 0 && (at == word || word - area < keys_in_block * key_value_bytes))
            return {area, i * keys_in_block, at == word};
    }
    return {};
}

} // namespace heapmark::platform
