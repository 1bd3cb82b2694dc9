// SPDX-License-Identifier: BSL-1.0
// thread_local variables are symbols of their own type, which libbacktrace passes by: their values are offsets into the
// module's storage (ELF handling for thread-local storage, section 3). Read from the file, once a module.
#include "symbolise/symbolise.hpp"

#include "analyse/immortal_text.hpp"
#include "platform/modules.hpp"
#include "symbolise/build_id.hpp"

#include <cstring>
#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace heapmark::symbolise {
namespace {

template <class T>
using List = std::vector<T, analyse::MallocAllocator<T>>;

struct ThreadVariable {
    std::size_t offset;
    std::size_t bytes;
    std::string_view name;
};

struct ModuleVariables {
    const platform::Module* module;
    List<ThreadVariable> list;
};

struct Caches {
    analyse::ImmortalText texts;
    List<ModuleVariables> modules;
};

/// In a forked child the loader's lock may be held by a thread that is not there any more.
constinit pid_t first_process = 0;
[[gnu::constructor]] void remember_process() noexcept { first_process = getpid(); }

/// A file's bytes; empty when it cannot be read.
class MappedFile {
public:
    explicit MappedFile(const char* path) noexcept
    {
        const int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) return;
        struct stat status {};
        if (fstat(file, &status) == 0 && status.st_size > 0) {
            bytes_ = static_cast<std::size_t>(status.st_size);
            void* const at = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
            if (at != MAP_FAILED) begin_ = static_cast<const char*>(at);
        }
        close(file);
    }
    ~MappedFile()
    {
        if (begin_ != nullptr) munmap(const_cast<char*>(begin_), bytes_);
    }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    /// `count` objects at `offset`; nullptr when the file does not hold them.
    template <class T>
    [[nodiscard]] const T* at(std::uint64_t offset, std::uint64_t count = 1) const noexcept
    {
        if (begin_ == nullptr || offset > bytes_ || offset % alignof(T) != 0) return nullptr;
        return count > (bytes_ - offset) / sizeof(T) ? nullptr : reinterpret_cast<const T*>(begin_ + offset);
    }

private:
    const char* begin_ = nullptr;
    std::size_t bytes_ = 0;
};

std::string_view demangled(const char* name, analyse::ImmortalText& texts)
{
    if (name[0] != '_' || name[1] != 'Z') return texts.keep(name);
    int status = 0;
    char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    const std::string_view kept = texts.keep(status == 0 && text != nullptr ? text : name);
    std::free(text);
    return kept;
}

void read_table(const MappedFile& file, const ElfW(Shdr) & table, const ElfW(Shdr) & names, ModuleVariables& out,
                analyse::ImmortalText& texts)
{
    const std::uint64_t count = table.sh_size / sizeof(ElfW(Sym));
    const auto* const symbols = file.at<ElfW(Sym)>(table.sh_offset, count);
    const char* const text = file.at<char>(names.sh_offset, names.sh_size);
    if (symbols == nullptr || text == nullptr || names.sh_size == 0 || text[names.sh_size - 1] != '\0') return;
    for (std::uint64_t i = 0; i < count; ++i) {
        const ElfW(Sym)& symbol = symbols[i];
        if (ELF64_ST_TYPE(symbol.st_info) != STT_TLS || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
        if (symbol.st_name >= names.sh_size) continue;
        out.list.push_back({symbol.st_value, symbol.st_size, demangled(text + symbol.st_name, texts)});
    }
}

void read_file(const char* path, ModuleVariables& out, analyse::ImmortalText& texts)
{
    const MappedFile file(path);
    const auto* const header = file.at<ElfW(Ehdr)>(0);
    if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
    const auto* const sections = file.at<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
    if (sections == nullptr) return;
    // The full table where there is one, else what is left for the dynamic linker.
    for (const ElfW(Word) type : {ElfW(Word){SHT_SYMTAB}, ElfW(Word){SHT_DYNSYM}}) {
        for (unsigned i = 0; i < header->e_shnum; ++i)
            if (sections[i].sh_type == type && sections[i].sh_link < header->e_shnum)
                read_table(file, sections[i], sections[sections[i].sh_link], out, texts);
        if (!out.list.empty()) return;
    }
}

bool is_of_module(const char* path, const platform::Module& module) noexcept
{
    BuildId on_disk;
    return read_build_id(path, on_disk) && on_disk.size == module.build_id_size &&
           std::memcmp(on_disk.bytes, module.build_id, on_disk.size) == 0;
}

const ModuleVariables& variables_of(const platform::Module& module, Caches& caches)
{
    for (const ModuleVariables& known : caches.modules)
        if (known.module == &module) return known;
    ModuleVariables& added = caches.modules.emplace_back(ModuleVariables{&module, {}});
    for (const char* const path : {module.path, "/proc/self/exe"})
        if (is_of_module(path, module)) {
            read_file(path, added, caches.texts);
            break;
        }
    return added;
}

/// Some address in the module whose storage has that number; 0 when none is loaded.
std::uintptr_t module_with_storage(std::size_t storage_id) noexcept
{
    if (storage_id == 1) { // always the program's, if it has any: otherwise a library got the number
        const auto* const headers = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR)); // NOLINT
        for (std::size_t i = 0; i < getauxval(AT_PHNUM); ++i)
            if (headers[i].p_type == PT_TLS) return getauxval(AT_ENTRY);
    }
    if (getpid() != first_process) return 0;
    struct Question {
        std::size_t storage_id;
        std::uintptr_t answer;
    } question{storage_id, 0};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t size, void* data) {
            auto& asked = *static_cast<Question*>(data);
            if (size < sizeof *info || info->dlpi_tls_modid != asked.storage_id) return 0;
            for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
                const ElfW(Phdr)& segment = info->dlpi_phdr[i];
                if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
                asked.answer = info->dlpi_addr + segment.p_vaddr;
                return 1;
            }
            return 0;
        },
        &question);
    return question.answer;
}

} // namespace

VariableName thread_variable_at(std::size_t storage_id, std::size_t offset)
{
    const std::uintptr_t inside = module_with_storage(storage_id);
    const platform::Module* const module = inside == 0 ? nullptr : platform::module_at(inside);
    if (module == nullptr) return {};
    const analyse::ColdLock<ModuleVariables> lock;
    Caches& caches = analyse::immortal<Caches>();
    for (const ThreadVariable& variable : variables_of(*module, caches).list)
        if (offset - variable.offset < variable.bytes) return {variable.name, module->path, offset - variable.offset};
    return {};
}

} // namespace heapmark::symbolise
