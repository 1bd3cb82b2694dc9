// SPDX-License-Identifier: BSL-1.0
#include "analyse/c_library.hpp"

#include "analyse/signature.hpp"

#include <algorithm>
#include <array>

namespace heapmark::analyse {

namespace {

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

bool is_c_library(std::string_view module)
{
    constexpr std::array<std::string_view, 10> names{"libc.so",  "libc-2",    "ld-linux", "ld-2",     "libpthread",
                                                     "libdl.so", "libresolv", "libnss_",  "librt.so", "libgcc_s.so"};
    const std::string_view name = module.substr(module.rfind('/') + 1);
    return module.find("/gconv/") != std::string_view::npos ||
           std::any_of(names.begin(), names.end(), [&](auto start) { return starts_with(name, start); });
}

/// The name without what tells one build of a function from another: "_IO_new_fopen64" -> "fopen".
std::string_view plain(std::string_view name)
{
    constexpr std::array<std::string_view, 6> prefixes{"_", "IO_", "new_", "GI_", "isoc99_", "isoc23_"};
    constexpr std::array<std::string_view, 3> suffixes{"64", "_chk", "_internal"};
    for (bool shorter = true; shorter;) {
        shorter = false;
        for (const std::string_view prefix : prefixes)
            if (starts_with(name, prefix)) {
                name.remove_prefix(prefix.size());
                shorter = true;
            }
        for (const std::string_view suffix : suffixes)
            if (name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix) {
                name.remove_suffix(suffix.size());
                shorter = true;
            }
    }
    return name;
}

/// Hand out memory that the caller releases, from whatever depth.
constexpr std::array<std::string_view, 59> generous{"strdup",
                                                    "strndup",
                                                    "wcsdup",
                                                    "asprintf",
                                                    "vasprintf",
                                                    "getline",
                                                    "getdelim",
                                                    "fopen",
                                                    "fdopen",
                                                    "freopen",
                                                    "tmpfile",
                                                    "popen",
                                                    "proc_open",
                                                    "open_memstream",
                                                    "open_wmemstream",
                                                    "fmemopen",
                                                    "fopencookie",
                                                    "opendir",
                                                    "fdopendir",
                                                    "scandir",
                                                    "scandirat",
                                                    "realpath",
                                                    "canonicalize_file_name",
                                                    "getcwd",
                                                    "get_current_dir_name",
                                                    "tempnam",
                                                    "glob",
                                                    "wordexp",
                                                    "regcomp",
                                                    "re_compile_pattern",
                                                    "re_search",
                                                    "regexec",
                                                    "tsearch",
                                                    "hcreate",
                                                    "hcreate_r",
                                                    "getifaddrs",
                                                    "if_nameindex",
                                                    "fts_open",
                                                    "setmntent",
                                                    "argz_create",
                                                    "argz_append",
                                                    "argz_add",
                                                    "argz_insert",
                                                    "envz_add",
                                                    "obstack_begin",
                                                    "obstack_newchunk",
                                                    "posix_spawn_file_actions_addopen",
                                                    "posix_spawn_file_actions_adddup2",
                                                    "posix_spawn_file_actions_addclose",
                                                    "sem_open",
                                                    "timer_create",
                                                    "backtrace_symbols",
                                                    "sscanf",
                                                    "vsscanf",
                                                    "fscanf",
                                                    "vfscanf",
                                                    "scanf",
                                                    "vscanf",
                                                    "catopen"};

/// Hand out a block themselves, while what they call fills caches.
constexpr std::array<std::string_view, 5> generous_themselves{"newlocale", "duplocale", "iconv_open", "getaddrinfo",
                                                              "freopen"};

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& list, std::string_view name)
{
    return std::find(list.begin(), list.end(), name) != list.end();
}

} // namespace

bool is_kept_by_c_library(const Stack& stack, Names& names)
{
    const CallSite site = call_site(stack, names);
    if (site.call == nullptr) return false;
    const CallName* door = nullptr; // the outermost of the innermost calls that are the library's
    int functions = 0;
    const CallName* call = site.call;
    for (std::size_t i = site.frame_index; i < stack.size() && is_c_library(names.of_frame(stack[i]).module); ++i) {
        const FrameNames& frame = names.of_frame(stack[i]);
        if (i != site.frame_index) call = &frame.calls.front();
        for (; call <= &frame.calls.back(); ++call) {
            door = call;
            if (!call->inlined) ++functions;
        }
    }
    if (door == nullptr) return false;
    const std::string_view name = plain(split_signature(door->function).name);
    return !(holds(generous, name) || (functions == 1 && holds(generous_themselves, name)));
}

} // namespace heapmark::analyse
