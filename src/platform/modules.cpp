// SPDX-License-Identifier: BSL-1.0
// The module registry: an append-only array of immortal records, found through a small hash in front.
// Asks the loader with _dl_find_object (glibc 2.35), which takes no lock and may be called in signal handlers. This file
// is built with -fno-plt, so that it is bound at load: lazy binding may allocate, and this runs inside malloc.
#include "platform/modules.hpp"

#include "platform/growing_table.hpp"
#include "platform/module_image.hpp"

#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <new>

namespace heapmark::platform {

constinit std::atomic<std::uint32_t> current_unload_epoch{0};

namespace {

using Slot = std::atomic<Module*>;

constexpr unsigned module_limit = 65535;

/// Slots in order of id - 1. A slot is filled once, by compare-and-swap, the lowest empty one first.
constinit GrowingTable<Slot, 16, 8> slots{};

/// In front of the array; an entry is only a hint and is compared before it is used.
constinit Slot hints[256]{};

Slot& hint_for(std::uintptr_t begin) noexcept { return hints[(begin >> 12 ^ begin >> 20) % 256]; }

Module* module_in(unsigned index) noexcept
{
    Slot* slot = index >= module_limit ? nullptr : slots.find(index);
    return slot == nullptr ? nullptr : slot->load(std::memory_order_acquire);
}

bool find(std::uintptr_t pc, dl_find_object& found) noexcept
{
    return _dl_find_object(reinterpret_cast<void*>(pc), &found) == 0; // NOLINT
}

/// FNV-1a.
std::uint64_t hash_of(const char* text) noexcept
{
    std::uint64_t hash = 0xcbf29ce484222325;
    for (; text != nullptr && *text != '\0'; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3;
    return hash;
}

/// Whether `module` is what the loader has just described. Another library may have got the same range and, from the
/// loader's heap, a record at the same address.
bool describes(const Module& module, const dl_find_object& found) noexcept
{
    return module.begin == reinterpret_cast<std::uintptr_t>(found.dlfo_map_start) &&
           module.end == reinterpret_cast<std::uintptr_t>(found.dlfo_map_end) &&
           module.eh_frame_header == found.dlfo_eh_frame &&
           module.loader_record.load(std::memory_order_acquire) == found.dlfo_link_map &&
           module.loader_name_hash == hash_of(found.dlfo_link_map->l_name);
}

bool same_file_at_same_place(const Module& a, const Module& b) noexcept
{
    return a.begin == b.begin && a.end == b.end && a.bias == b.bias && a.eh_frame_header == b.eh_frame_header &&
           a.loader_name_hash == b.loader_name_hash && a.build_id_size == b.build_id_size &&
           std::memcmp(a.build_id, b.build_id, a.build_id_size) == 0 && std::strcmp(a.path, b.path) == 0;
}

constexpr std::size_t record_bytes = sizeof(Module) + path_capacity;
static_assert(record_bytes <= 4096, "a record has its page to itself");

/// A record that is not published yet, with its text behind it in the same pages.
Module* describe(const dl_find_object& found) noexcept
{
    void* memory = map_pages(record_bytes);
    if (memory == nullptr) return nullptr;
    Module* module = new (memory) Module{};
    char* text = reinterpret_cast<char*>(module + 1);
    const link_map& record = *found.dlfo_link_map;
    module->begin = reinterpret_cast<std::uintptr_t>(found.dlfo_map_start);
    module->end = reinterpret_cast<std::uintptr_t>(found.dlfo_map_end);
    module->bias = record.l_addr;
    module->path = text;
    const bool is_program = record.l_name == nullptr || record.l_name[0] == '\0';
    write_module_path(module->begin, is_program ? nullptr : record.l_name, text);
    module->eh_frame_header = static_cast<const std::uint8_t*>(found.dlfo_eh_frame);
    read_module_image(*module, is_program);
    module->loader_name_hash = hash_of(record.l_name);
    module->loader_record.store(&record, std::memory_order_relaxed);
    module->loaded.store(true, std::memory_order_relaxed);
    return module;
}

/// Finds or appends. Every thread that adds looks at the same slots in the same order, so that two that add the same
/// module at once end with one record.
[[gnu::cold, gnu::noinline]] const Module* register_module(const dl_find_object& found) noexcept
{
    Module* fresh = describe(found);
    if (fresh == nullptr) return nullptr;
    Module* result = nullptr;
    bool something_gone = false;
    for (unsigned index = 0; result == nullptr; ++index) {
        Slot* slot = index >= module_limit ? nullptr : slots.slot(index);
        if (slot == nullptr) break;
        Module* there = slot->load(std::memory_order_acquire);
        if (there == nullptr) {
            fresh->id = static_cast<std::uint16_t>(index + 1);
            if (slot->compare_exchange_strong(there, fresh, std::memory_order_acq_rel)) {
                result = fresh;
                break;
            }
        }
        if (same_file_at_same_place(*there, *fresh)) {
            there->loader_record.store(found.dlfo_link_map, std::memory_order_release);
            there->loaded.store(true, std::memory_order_release);
            result = there;
        } else if (there->begin < fresh->end && fresh->begin < there->end &&
                   there->loaded.exchange(false, std::memory_order_acq_rel)) {
            something_gone = true; // an unloading that nobody told us of
        }
    }
    if (result != fresh) unmap_pages(fresh, record_bytes);
    if (something_gone) current_unload_epoch.fetch_add(1, std::memory_order_acq_rel);
    if (result != nullptr) hint_for(result->begin).store(result, std::memory_order_release);
    return result;
}

} // namespace

const Module* module_at(std::uintptr_t pc) noexcept
{
    dl_find_object found;
    if (!find(pc, found)) return nullptr;
    const auto begin = reinterpret_cast<std::uintptr_t>(found.dlfo_map_start);
    Module* hint = hint_for(begin).load(std::memory_order_acquire);
    if (hint != nullptr && describes(*hint, found) && hint->loaded.load(std::memory_order_acquire)) return hint;
    for (unsigned index = 0;; ++index) {
        Module* module = module_in(index);
        if (module == nullptr) break;
        if (describes(*module, found) && module->loaded.load(std::memory_order_acquire)) {
            hint_for(begin).store(module, std::memory_order_release);
            return module;
        }
    }
    return register_module(found);
}

const Module* module_by_id(std::uint16_t id) noexcept { return id == 0 ? nullptr : module_in(id - 1U); }

void note_unload() noexcept
{
    for (unsigned index = 0;; ++index) {
        Module* module = module_in(index);
        if (module == nullptr) break;
        if (!module->loaded.load(std::memory_order_acquire)) continue;
        dl_find_object found;
        if (find(module->begin, found) && describes(*module, found)) continue;
        // A thread that loads the same file again right now may set this back to true first: then the next
        // module_at registers it anew, finds this record, and repairs it.
        module->loaded.store(false, std::memory_order_release);
    }
    current_unload_epoch.fetch_add(1, std::memory_order_acq_rel);
}

} // namespace heapmark::platform
