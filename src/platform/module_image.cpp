// SPDX-License-Identifier: BSL-1.0
// Reads ELF headers of loaded modules, and their paths from the loader or /proc.
#include "platform/module_image.hpp"

#include "platform/modules.hpp"
#include "platform/raw_syscall.hpp"
#include "platform/safe_read.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

namespace heapmark::platform {
namespace {

unsigned long auxiliary(unsigned long type) noexcept
{
    const int saved_errno = errno;
    const unsigned long value = getauxval(type);
    errno = saved_errno;
    return value;
}

void copy_text(const char* text, std::size_t length, char* path) noexcept
{
    length = std::min(length, path_capacity - 1);
    std::memcpy(path, text, length);
    path[length] = '\0';
}

void write_program_path(char* path) noexcept
{
    path[0] = '\0';
    const long length = raw_syscall(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>("/proc/self/exe"),
                                    reinterpret_cast<long>(path), path_capacity - 1);
    if (length > 0) {
        path[length] = '\0';
        return;
    }
    const auto* name = reinterpret_cast<const char*>(auxiliary(AT_EXECFN)); // NOLINT
    if (name != nullptr) copy_text(name, std::strlen(name), path);
}

/// Takes /proc/self/maps a byte at a time and keeps the path of the line that begins at one address.
/// A line: "begin-end perms offset device inode      path".
class MapsLine {
public:
    MapsLine(std::uintptr_t begin, char* path) noexcept : wanted_(begin), path_(path) {}

    /// Returns true when the path is complete.
    bool take(char c) noexcept
    {
        if (c == '\n') {
            if (length_ != 0) {
                path_[length_] = '\0';
                return true;
            }
            *this = MapsLine(wanted_, path_);
        } else if (in_address_) {
            if (c == '-')
                in_address_ = false;
            else
                address_ = address_ << 4 | static_cast<std::uintptr_t>(c <= '9' ? c - '0' : c - 'a' + 10);
        } else if (length_ != 0 || c == '/') {
            if (address_ == wanted_ && length_ < path_capacity - 1) path_[length_++] = c;
        }
        return false;
    }

private:
    std::uintptr_t wanted_;
    char* path_;
    std::uintptr_t address_ = 0;
    std::size_t length_ = 0;
    bool in_address_ = true;
};

bool write_path_from_maps(std::uintptr_t begin, char* path) noexcept
{
    const long file =
        raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/maps"), O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    MapsLine line(begin, path);
    bool complete = false;
    char buffer[512]; // small: this may run on a signal stack
    while (!complete) {
        const long count = raw_syscall(SYS_read, file, reinterpret_cast<long>(buffer), sizeof buffer);
        if (count == -EINTR) continue;
        if (count <= 0) break;
        for (long i = 0; i < count && !complete; ++i) complete = line.take(buffer[i]);
    }
    raw_syscall(SYS_close, file);
    return complete;
}

struct Segments {
    const ElfW(Phdr) * first;
    std::size_t count;
};

/// The program headers: from the ELF header at the start of the mapping, where linkers put it in the first segment.
/// Of the program itself, the kernel tells; the loader's range begins with its code when it is linked statically.
Segments program_headers(const Module& module, bool is_program) noexcept
{
    if (is_program) return {reinterpret_cast<const ElfW(Phdr)*>(auxiliary(AT_PHDR)), auxiliary(AT_PHNUM)}; // NOLINT
    const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(module.begin);                                // NOLINT
    if (module.end - module.begin < sizeof *header || !readable(header, sizeof *header)) return {nullptr, 0};
    if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phentsize != sizeof(ElfW(Phdr)))
        return {nullptr, 0};
    const std::size_t bytes = std::size_t{header->e_phnum} * sizeof(ElfW(Phdr));
    if (header->e_phoff > module.end - module.begin || bytes > module.end - module.begin - header->e_phoff)
        return {nullptr, 0};
    const auto* first = reinterpret_cast<const ElfW(Phdr)*>(module.begin + header->e_phoff); // NOLINT
    if (!readable(first, bytes)) return {nullptr, 0};
    return {first, header->e_phnum};
}

/// Notes: three words, then name and descriptor, each padded to 4 (or, in 8-aligned segments, 8) bytes.
void read_build_id(Module& module, const ElfW(Phdr) & segment) noexcept
{
    const std::uintptr_t alignment = segment.p_align == 8 ? 8 : 4;
    std::uintptr_t at = module.bias + segment.p_vaddr;
    std::uintptr_t left = segment.p_memsz;
    if (!readable(reinterpret_cast<const void*>(at), left)) return; // NOLINT
    ElfW(Nhdr) note;
    while (left >= sizeof note) {
        std::memcpy(&note, reinterpret_cast<const void*>(at), sizeof note); // NOLINT
        const std::uintptr_t name_bytes = (std::uintptr_t{note.n_namesz} + alignment - 1) & ~(alignment - 1);
        const std::uintptr_t total = (sizeof note + name_bytes + note.n_descsz + alignment - 1) & ~(alignment - 1);
        if (total > left) return;
        const auto* name = reinterpret_cast<const char*>(at + sizeof note); // NOLINT
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
            module.build_id_size =
                static_cast<std::uint8_t>(std::min<std::size_t>(note.n_descsz, sizeof module.build_id));
            std::memcpy(module.build_id, name + name_bytes, module.build_id_size);
            return;
        }
        at += total;
        left -= total;
    }
}

} // namespace

void write_module_path(std::uintptr_t begin, const char* loader_name, char* path) noexcept
{
    if (begin == auxiliary(AT_SYSINFO_EHDR)) return copy_text("[vdso]", 6, path);
    // A library opened by a relative name: the directory may have changed since, so ask the kernel. The program has no
    // name here, and /proc/self/exe is the loader when it was started by hand (ld.so PROGRAM).
    if ((loader_name == nullptr || loader_name[0] != '/') && write_path_from_maps(begin, path)) return;
    if (loader_name == nullptr) return write_program_path(path);
    copy_text(loader_name, std::strlen(loader_name), path);
}

void read_module_image(Module& module, bool is_program) noexcept
{
    const Segments segments = program_headers(module, is_program);
    const auto tables = reinterpret_cast<std::uintptr_t>(module.eh_frame_header);
    for (std::size_t i = 0; i < segments.count; ++i) {
        const ElfW(Phdr)& segment = segments.first[i];
        const std::uintptr_t begin = module.bias + segment.p_vaddr;
        if (segment.p_type == PT_NOTE && module.build_id_size == 0) read_build_id(module, segment);
        if (segment.p_type == PT_LOAD && tables >= begin && tables - begin < segment.p_memsz) {
            module.tables_begin = reinterpret_cast<const std::uint8_t*>(begin); // NOLINT
            module.tables_end = module.tables_begin + segment.p_memsz;
        }
    }
}

} // namespace heapmark::platform
