// SPDX-License-Identifier: BSL-1.0
// Symbol look-up in ELF modules through their GNU hash tables (System V ABI, "Hash Table"; DT_GNU_HASH as ld.so reads it).
#include "platform/next_symbol.hpp"

#include <cstdint>
#include <cstring>

namespace heapmark::platform {
namespace {

struct SymbolTable {
    const ElfW(Sym) * symbols = nullptr;
    const char* strings = nullptr;
    const std::uint32_t* gnu_hash = nullptr;
    const std::uint16_t* versions = nullptr;
};

SymbolTable symbol_table(const link_map& module) noexcept
{
    // The linker has turned these into addresses, except in modules it may not write to (the vDSO).
    const auto address = [&](ElfW(Addr) value) {
        return reinterpret_cast<const void*>(value < module.l_addr ? value + module.l_addr : value); // NOLINT
    };
    SymbolTable table;
    for (const ElfW(Dyn)* entry = module.l_ld; entry->d_tag != DT_NULL; ++entry) {
        switch (entry->d_tag) {
        case DT_SYMTAB: table.symbols = static_cast<const ElfW(Sym)*>(address(entry->d_un.d_ptr)); break;
        case DT_STRTAB: table.strings = static_cast<const char*>(address(entry->d_un.d_ptr)); break;
        case DT_GNU_HASH: table.gnu_hash = static_cast<const std::uint32_t*>(address(entry->d_un.d_ptr)); break;
        case DT_VERSYM: table.versions = static_cast<const std::uint16_t*>(address(entry->d_un.d_ptr)); break;
        default: break;
        }
    }
    return table;
}

std::uint32_t gnu_hash(const char* name) noexcept
{
    std::uint32_t hash = 5381;
    for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
    return hash;
}

void* function_address(const link_map& module, const ElfW(Sym) & symbol) noexcept
{
    void* address = reinterpret_cast<void*>(module.l_addr + symbol.st_value); // NOLINT
    if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC) return reinterpret_cast<void* (*)()>(address)();
    return address;
}

} // namespace

const link_map* own_link_map() noexcept
{
    const link_map* module = _r_debug.r_map;
    while (module != nullptr && module->l_ld != _DYNAMIC) module = module->l_next;
    return module;
}

void* function_in(const link_map& module, const char* name) noexcept
{
    const SymbolTable table = symbol_table(module);
    if (table.gnu_hash == nullptr || table.symbols == nullptr || table.strings == nullptr) return nullptr;

    const std::uint32_t bucket_count = table.gnu_hash[0];
    const std::uint32_t first_hashed = table.gnu_hash[1];
    const std::uint32_t bloom_words = table.gnu_hash[2];
    const std::uint32_t* buckets = table.gnu_hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / 4);
    const std::uint32_t* chains = buckets + bucket_count;
    if (bucket_count == 0) return nullptr;

    const std::uint32_t hash = gnu_hash(name);
    for (std::uint32_t index = buckets[hash % bucket_count]; index >= first_hashed; ++index) {
        const std::uint32_t chained = chains[index - first_hashed];
        const ElfW(Sym)& symbol = table.symbols[index];
        constexpr std::uint16_t hidden_version = 0x8000;
        if ((chained | 1) == (hash | 1) && symbol.st_shndx != SHN_UNDEF &&
            (table.versions == nullptr || (table.versions[index] & hidden_version) == 0) &&
            std::strcmp(table.strings + symbol.st_name, name) == 0)
            return function_address(module, symbol);
        if ((chained & 1) != 0) break;
    }
    return nullptr;
}

void* next_function(const char* name, const link_map*& where) noexcept
{
    const link_map* own = own_link_map();
    for (const link_map* module = own == nullptr ? nullptr : own->l_next; module != nullptr; module = module->l_next) {
        if (void* address = function_in(*module, name)) {
            where = module;
            return address;
        }
    }
    return nullptr;
}

} // namespace heapmark::platform
