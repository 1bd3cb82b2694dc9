// SPDX-License-Identifier: BSL-1.0
#include "symbolise/debug_symbols.hpp"

#include "analyse/immortal_text.hpp"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <span>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace heapmark::symbolise {
namespace {

template <class T>
using List = std::vector<T, analyse::MallocAllocator<T>>;

struct DebugFile {
    const platform::Module* module;
    List<Symbol> functions; ///< by address
};

/// The file's bytes, mapped for good: names stay in there.
std::span<const char> map_file(const char* path) noexcept
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    struct stat status {};
    void* at = MAP_FAILED;
    const bool known = fstat(file, &status) == 0 && status.st_size > 0;
    const auto bytes = static_cast<std::size_t>(known ? status.st_size : 0);
    if (known) at = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (at == MAP_FAILED) return {};
    return {static_cast<const char*>(at), bytes};
}

template <class T>
const T* at_offset(std::span<const char> file, std::uint64_t offset, std::uint64_t count = 1) noexcept
{
    if (offset > file.size() || offset % alignof(T) != 0 || count > (file.size() - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(file.data() + offset);
}

void read_functions(std::span<const char> file, List<Symbol>& functions)
{
    const auto* const header = at_offset<ElfW(Ehdr)>(file, 0);
    if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
    const auto* const sections = at_offset<ElfW(Shdr)>(file, header->e_shoff, header->e_shnum);
    for (unsigned i = 0; sections != nullptr && i < header->e_shnum; ++i) {
        if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= header->e_shnum) continue;
        const ElfW(Shdr)& names = sections[sections[i].sh_link];
        const std::uint64_t count = sections[i].sh_size / sizeof(ElfW(Sym));
        const auto* const symbols = at_offset<ElfW(Sym)>(file, sections[i].sh_offset, count);
        const char* const text = at_offset<char>(file, names.sh_offset, names.sh_size);
        if (symbols == nullptr || text == nullptr || names.sh_size == 0 || text[names.sh_size - 1] != '\0') return;
        for (std::uint64_t s = 0; s < count; ++s) {
            const ElfW(Sym)& symbol = symbols[s];
            const bool is_code = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF;
            if (is_code && symbol.st_size != 0 && symbol.st_name < names.sh_size)
                functions.push_back({text + symbol.st_name, symbol.st_value, symbol.st_size});
        }
    }
    std::sort(functions.begin(), functions.end(), [](const Symbol& a, const Symbol& b) { return a.begin < b.begin; });
}

List<Symbol> functions_of(const platform::Module& module)
{
    List<Symbol> functions;
    if (module.build_id_size < 2) return functions;
    constexpr char digits[] = "0123456789abcdef";
    char path[96] = "/usr/lib/debug/.build-id/";
    std::size_t length = std::strlen(path);
    for (std::size_t i = 0; i < module.build_id_size; ++i) {
        path[length++] = digits[module.build_id[i] >> 4];
        path[length++] = digits[module.build_id[i] & 15];
        if (i == 0) path[length++] = '/';
    }
    std::memcpy(path + length, ".debug", sizeof ".debug");
    read_functions(map_file(path), functions);
    return functions;
}

} // namespace

Symbol debug_symbol_at(const platform::Module& module, std::uintptr_t address)
{
    auto& files = analyse::immortal<List<DebugFile>>();
    auto file = std::find_if(files.begin(), files.end(), [&](const DebugFile& f) { return f.module == &module; });
    if (file == files.end()) file = files.insert(files.end(), {&module, functions_of(module)});
    const List<Symbol>& functions = file->functions;
    const auto after =
        std::upper_bound(functions.begin(), functions.end(), address,
                         [](std::uintptr_t value, const Symbol& symbol) { return value < symbol.begin; });
    if (after == functions.begin()) return {};
    const Symbol& found = *(after - 1);
    return address - found.begin < found.size ? found : Symbol{};
}

} // namespace heapmark::symbolise
