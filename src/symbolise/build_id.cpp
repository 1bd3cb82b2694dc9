// SPDX-License-Identifier: BSL-1.0
// ELF note layout: elf(5), "Notes (Nhdr)". The build-id is the note of name "GNU" and type NT_GNU_BUILD_ID.
#include "symbolise/build_id.hpp"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

namespace heapmark::symbolise {

namespace {

class File {
public:
    explicit File(const char* path) noexcept : descriptor_(open(path, O_RDONLY | O_CLOEXEC)) {}
    ~File()
    {
        if (descriptor_ >= 0) close(descriptor_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    bool read(void* into, std::size_t bytes, std::uint64_t offset) const noexcept
    {
        return descriptor_ >= 0 &&
               pread(descriptor_, into, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
    }

private:
    int descriptor_;
};

constexpr std::uint64_t padded(std::uint64_t bytes, std::uint64_t alignment) noexcept
{
    return (bytes + alignment - 1) & ~(alignment - 1);
}

bool find_in_notes(const File& file, const ElfW(Phdr) & segment, BuildId& id) noexcept
{
    const std::uint64_t alignment = segment.p_align == 8 ? 8 : 4;
    std::uint64_t at = segment.p_offset;
    const std::uint64_t end = at + segment.p_filesz;
    ElfW(Nhdr) note;
    while (at + sizeof note <= end && file.read(&note, sizeof note, at)) {
        const std::uint64_t name = at + sizeof note;
        const std::uint64_t content = at + padded(sizeof note + note.n_namesz, alignment);
        char owner[4];
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof owner && file.read(owner, sizeof owner, name) &&
            std::memcmp(owner, "GNU", sizeof owner) == 0) {
            id.size = std::min<std::size_t>(note.n_descsz, sizeof id.bytes);
            return file.read(id.bytes, id.size, content);
        }
        at = content + padded(note.n_descsz, alignment);
    }
    return false;
}

} // namespace

bool read_build_id(const char* path, BuildId& id) noexcept
{
    const File file(path);
    ElfW(Ehdr) header;
    if (!file.read(&header, sizeof header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        header.e_phentsize != sizeof(ElfW(Phdr)))
        return false;
    id = {};
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        ElfW(Phdr) segment;
        if (!file.read(&segment, sizeof segment, header.e_phoff + std::uint64_t{i} * sizeof segment)) return false;
        if (segment.p_type == PT_NOTE && find_in_notes(file, segment, id)) break;
    }
    return true;
}

} // namespace heapmark::symbolise
