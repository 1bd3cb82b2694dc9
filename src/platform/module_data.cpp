// SPDX-License-Identifier: BSL-1.0
// Follows _r_debug (System V ABI, "Dynamic Linking"; <link.h>). All that is read is probed first: a thread may have
// been stopped while it took a module out.
#include "platform/module_data.hpp"

#include "platform/safe_read.hpp"

#include <cstring>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

namespace heapmark::platform {
namespace {

/// More than glibc's private part of struct link_map ever needed; what lies behind it is the loader's memory too.
constexpr std::size_t loader_record_bytes = 1280;
constexpr unsigned module_limit = 65536;
constexpr unsigned namespace_limit = 64;

struct Headers {
    const ElfW(Phdr) * first = nullptr;
    std::size_t count = 0;
};

/// By the dynamic section one finds the file's headers: they lie at the start of the module's first mapping, which is
/// where the base address is for all that linkers make, the program excepted.
Headers program_headers(const link_map& module) noexcept
{
    const bool is_program = module.l_name == nullptr || module.l_name[0] == '\0';
    if (is_program && module.l_prev == nullptr)
        return {reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR)), getauxval(AT_PHNUM)}; // NOLINT
    const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(module.l_addr);                   // NOLINT
    if (!readable(header, sizeof *header) || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return {};
    const auto* first = reinterpret_cast<const ElfW(Phdr)*>(module.l_addr + header->e_phoff); // NOLINT
    if (header->e_phentsize != sizeof *first || !readable(first, header->e_phnum * sizeof *first)) return {};
    return {first, header->e_phnum};
}

bool add_module(const link_map& module, PageVector<MemoryRange>& segments) noexcept
{
    const Headers headers = program_headers(module);
    for (std::size_t i = 0; i < headers.count; ++i) {
        const ElfW(Phdr)& segment = headers.first[i];
        if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
        const std::uintptr_t begin = module.l_addr + segment.p_vaddr;
        if (!segments.push_back({begin, begin + segment.p_memsz})) return false;
    }
    return true;
}

/// The next namespace (dlmopen) follows from version 2 of the structure on, glibc 2.35.
const r_debug* next_namespace(const r_debug& debug) noexcept
{
    struct Extended {
        r_debug base;
        const r_debug* next;
    };
    return debug.r_version < 2 ? nullptr : reinterpret_cast<const Extended&>(debug).next;
}

} // namespace

bool read_module_data(PageVector<MemoryRange>& segments, PageVector<MemoryRange>& loader_records) noexcept
{
    segments.clear();
    loader_records.clear();
    unsigned namespaces = 0;
    for (const r_debug* debug = &_r_debug; debug != nullptr && namespaces < namespace_limit; ++namespaces) {
        unsigned modules = 0;
        for (const link_map* module = debug->r_map; module != nullptr && modules < module_limit; ++modules) {
            if (!readable(module, sizeof *module)) break;
            const auto begin = reinterpret_cast<std::uintptr_t>(module);
            if (!add_module(*module, segments)) return false;
            if (!loader_records.push_back({begin, begin + loader_record_bytes})) return false;
            module = module->l_next;
        }
        debug = next_namespace(*debug);
        if (debug != nullptr && !readable(debug, sizeof *debug)) break;
    }
    return true;
}

} // namespace heapmark::platform
