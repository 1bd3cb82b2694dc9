// SPDX-License-Identifier: BSL-1.0
// elf(5), execve(2), and ld.so(8) on secure-execution mode.
#include "program/preloadable.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <string_view>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace heapmark::program {
namespace {

namespace fs = std::filesystem;

/// Its part from `offset` on, as far as the file has it.
std::string read_part(const fs::path& path, std::uint64_t offset, std::size_t bytes)
{
    std::ifstream file(path, std::ios::binary);
    std::string part(bytes, '\0');
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(part.data(), static_cast<std::streamsize>(bytes));
    part.resize(file.bad() || file.gcount() < 0 ? 0 : static_cast<std::size_t>(file.gcount()));
    return part;
}

/// Of "#!/bin/sh -e": "/bin/sh". Empty when the file is no script.
std::string interpreter_of(std::string_view start)
{
    if (start.substr(0, 2) != "#!") return {};
    const std::string_view line = start.substr(2, start.find('\n') - 2);
    const std::size_t first = std::min(line.find_first_not_of(" \t"), line.size());
    return std::string(line.substr(first, line.find_first_of(" \t", first) - first));
}

bool has_loader(const fs::path& path, const Elf64_Ehdr& header)
{
    const std::string table = read_part(path, header.e_phoff, std::size_t{header.e_phnum} * sizeof(Elf64_Phdr));
    for (std::size_t at = 0; at + sizeof(Elf64_Phdr) <= table.size(); at += sizeof(Elf64_Phdr)) {
        Elf64_Phdr segment;
        std::memcpy(&segment, table.data() + at, sizeof segment);
        if (segment.p_type == PT_INTERP) return true;
    }
    // The loader itself, called with a program.
    const std::string name = path.filename().string();
    return header.e_type == ET_DYN && name.starts_with("ld") && name.find(".so") != std::string::npos;
}

/// Whether running it gives rights that the caller has not got.
bool gives_rights(const fs::path& path)
{
    struct stat file = {};
    struct statvfs system = {};
    if (stat(path.c_str(), &file) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return false;
    if (statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_NOSUID) != 0) return false;
    if ((file.st_mode & S_ISUID) != 0 && file.st_uid != getuid()) return true;
    if ((file.st_mode & S_ISGID) != 0 && (file.st_mode & S_IXGRP) != 0 && file.st_gid != getgid()) return true;
    return getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0; // capabilities(7)
}

} // namespace

fs::path find_program(const std::string& word)
{
    if (word.find('/') != std::string::npos) return word;
    const char* const set = std::getenv("PATH"); // NOLINT(concurrency-mt-unsafe)
    for (std::string_view folders = set == nullptr ? "/bin:/usr/bin" : set;;) {
        const std::size_t colon = folders.find(':');
        const fs::path path = fs::path(folders.substr(0, colon)) / word;
        if (access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path)) return path;
        if (colon == std::string_view::npos) return {};
        folders.remove_prefix(colon + 1);
    }
}

std::string why_not_preloadable(const fs::path& program)
{
    constexpr int most_interpreters = 4; // as in the kernel
    fs::path path = program;
    std::string start = read_part(path, 0, 256);
    for (int i = 0; i < most_interpreters; ++i) {
        const std::string interpreter = interpreter_of(start);
        if (interpreter.empty()) break;
        path = interpreter;
        start = read_part(path, 0, 256);
    }
    const std::string name = path == program ? path.string() : path.string() + ", which runs " + program.string() + ",";
    const std::string no_report = ", so there would be no report; ";

    Elf64_Ehdr header;
    if (start.size() < sizeof header || start.compare(0, SELFMAG, ELFMAG) != 0) return {};
    std::memcpy(&header, start.data(), sizeof header);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64)
        return name + " is not of the architecture that heapmark was built for" + no_report + "build it for x86-64";
    if (!has_loader(path, header))
        return name + " is statically linked: no preload library gets into it" + no_report + "link it dynamically";
    if (gives_rights(path))
        return name + " is set-uid, set-gid or has capabilities: the system ignores the preload library" + no_report +
               "run a copy without them, or run heapmark as the user that it becomes";
    return {};
}

} // namespace heapmark::program
