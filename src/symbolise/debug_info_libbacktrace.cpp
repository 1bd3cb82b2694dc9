// SPDX-License-Identifier: BSL-1.0
// libbacktrace back end. Its copy in this library is private (src/cmake/EmbedLibbacktrace.cmake): the names below are
// ours, and where it would ask the dynamic loader for all modules of the process it gets one, at base 0. So each file
// has a state of its own and is asked by the file's virtual addresses, whether or not it is loaded now and wherever.
// Separate debug files (build-id directories, .gnu_debuglink) are found by libbacktrace. The C library's is left alone: it
// takes some 0.2 s to read, for frames of start-up that no report shows; only its names are read.
#include "symbolise/build_id.hpp"
#include "symbolise/debug_info.hpp"
#include "symbolise/debug_symbols.hpp"
#include "symbolise/libbacktrace.hpp"

#include "analyse/immortal_text.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <link.h>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace heapmark::symbolise {
/// While a file is asked about whose separate debug file is unwanted: its path. Under the room's lock.
static constinit const char* only_file = nullptr;
} // namespace heapmark::symbolise

extern "C" {
/// Stands for open in the embedded copy: fails for all but the file that is asked about, where others are unwanted.
__attribute__((visibility("hidden"))) int heapmark_backtrace_open(const char* path, int flags, ...)
{
    if (const char* const only = heapmark::symbolise::only_file; only != nullptr && std::strcmp(path, only) != 0) {
        errno = ENOENT;
        return -1;
    }
    return ::open(path, flags); // libbacktrace only reads
}
__attribute__((visibility("hidden"), alias("heapmark_backtrace_open"))) int heapmark_backtrace_open64(const char* path,
                                                                                                      int flags, ...);

/// Stands for dl_iterate_phdr in the embedded copy. An empty name means "the file that the state was made with".
__attribute__((visibility("hidden"))) int
heapmark_backtrace_one_module(int (*callback)(dl_phdr_info* info, std::size_t size, void* data), void* data)
{
    dl_phdr_info info{};
    info.dlpi_name = "";
    return callback(&info, sizeof info, data);
}
}

namespace heapmark::symbolise {

namespace {

/// A file, however often it was loaded.
struct LoadedFile {
    std::string_view path;
    BuildId id;
    backtrace_state* state; ///< nullptr: no names from this file
    const char* only_file;  ///< not nullptr: the path, and no separate debug file is to be read
};

using LoadedFiles = std::vector<LoadedFile, analyse::MallocAllocator<LoadedFile>>;

/// Absence of symbols or debug information is no error for us: the frame stays without a name.
void ignore_error(void*, const char*, int) noexcept {}

bool is_of_module(const char* path, const platform::Module& module) noexcept
{
    BuildId on_disk;
    return read_build_id(path, on_disk) && on_disk.size == module.build_id_size &&
           std::memcmp(on_disk.bytes, module.build_id, on_disk.size) == 0;
}

/// The path, or the program's file through the process when the path leads elsewhere by now; nullptr when none is it.
const char* file_of(const platform::Module& module) noexcept
{
    constexpr const char* program = "/proc/self/exe";
    if (is_of_module(module.path, module)) return module.path;
    return module.build_id_size != 0 && is_of_module(program, module) ? program : nullptr;
}

bool is_c_library(std::string_view path) noexcept
{
    const std::string_view file = path.substr(path.rfind('/') + 1);
    return file.starts_with("libc.so") || file.starts_with("ld-linux") || file.starts_with("libpthread.so");
}

/// libbacktrace reads a file when it is first asked about it, not when its state is made.
class Ask {
public:
    explicit Ask(const LoadedFile* file) noexcept : state(file == nullptr ? nullptr : file->state)
    {
        if (file != nullptr) only_file = file->only_file;
    }
    ~Ask() { only_file = nullptr; }
    Ask(const Ask&) = delete;
    Ask& operator=(const Ask&) = delete;

    backtrace_state* const state;
};

/// Valid until the next call.
const LoadedFile* file_for(const platform::Module& module)
{
    if (module.path[0] != '/') return nullptr; // the vDSO and the like: in no file
    LoadedFiles& files = analyse::immortal<LoadedFiles>();
    for (const LoadedFile& file : files)
        if (file.path == module.path && file.id.size == module.build_id_size &&
            std::memcmp(file.id.bytes, module.build_id, file.id.size) == 0)
            return &file;

    LoadedFile added{module.path, {}, nullptr, nullptr};
    added.id.size = module.build_id_size;
    std::memcpy(added.id.bytes, module.build_id, module.build_id_size);
    if (const char* const path = file_of(module)) {
        added.state = heapmark_backtrace_create_state(path, 0, ignore_error, nullptr);
        if (is_c_library(path)) added.only_file = path;
    }
    files.push_back(added);
    return &files.back();
}

/// Debug information of version 5 may name a source by its whole path; libbacktrace puts the folder of the compilation
/// before that, too. Two slashes may also be the user's own, in a path that leads to a file.
const char* own_path(const char* file) noexcept
{
    const char* const joined = file == nullptr ? nullptr : std::strstr(file, "//");
    return joined == nullptr || access(file, F_OK) == 0 ? file : joined + 1;
}

} // namespace

void calls_at(const platform::Module& module, std::uintptr_t address, CallSink& sink)
{
    const Ask ask(file_for(module));
    if (ask.state == nullptr) return;
    const auto tell = [](void* data, std::uintptr_t, const char* file, int line, const char* function) {
        if (file != nullptr || function != nullptr)
            static_cast<CallSink*>(data)->call(function, own_path(file), line > 0 ? static_cast<unsigned>(line) : 0);
        return 0;
    };
    heapmark_backtrace_pcinfo(ask.state, address, tell, ignore_error, &sink);
}

Symbol symbol_at(const platform::Module& module, std::uintptr_t address)
{
    Symbol symbol;
    const Ask ask(file_for(module));
    if (ask.state == nullptr) return symbol;
    const auto tell = [](void* data, std::uintptr_t, const char* name, std::uintptr_t begin, std::uintptr_t size) {
        *static_cast<Symbol*>(data) = {name, begin, size};
    };
    heapmark_backtrace_syminfo(ask.state, address, tell, ignore_error, &symbol);
    if (symbol.name == nullptr && only_file != nullptr) symbol = debug_symbol_at(module, address);
    return symbol;
}

} // namespace heapmark::symbolise
