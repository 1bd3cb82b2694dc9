// SPDX-License-Identifier: BSL-1.0
// heapmark run PROGRAM ...: becomes the program, with the preload library in front.
#include "platform/options.hpp"
#include "program/commands.hpp"
#include "program/preloadable.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>

namespace heapmark::program {
namespace {

namespace fs = std::filesystem;

/// Beside this program, as in a build folder, or in the lib folder of its installation.
fs::path find_preload_library()
{
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    for (const fs::path& folder : {here, here / HEAPMARK_LIBRARIES_FROM_PROGRAM}) {
        const fs::path library = folder / "libheapmark_preload.so";
        if (fs::exists(library)) return fs::canonical(library);
    }
    throw std::runtime_error("libheapmark_preload.so is neither in " + here.string() + " nor in " +
                             (here / HEAPMARK_LIBRARIES_FROM_PROGRAM).lexically_normal().string());
}

std::string from_environment(const char* name)
{
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string{} : value;
}

/// From the root on, whatever folder the program works in. HEAPMARK_OPTIONS is split at colons.
std::string absolute(std::string_view path, const char* what)
{
    std::string whole = fs::absolute(path).string();
    if (whole.find(':') != std::string::npos)
        throw std::runtime_error("no colon may be in the path of " + std::string(what) + ": " + whole);
    return whole;
}

/// The same of each path of "a,b".
std::string absolute_list(std::string_view paths, const char* what)
{
    std::string list;
    for (;;) {
        const std::size_t comma = paths.find(',');
        if (comma != 0 && !paths.empty()) list += (list.empty() ? "" : ",") + absolute(paths.substr(0, comma), what);
        if (comma == std::string_view::npos) return list;
        paths.remove_prefix(comma + 1);
    }
}

/// Of keys that are given twice the last one counts.
std::string all_options(const RunArguments& arguments)
{
    std::string all = "report_at_exit=1:" + from_environment("HEAPMARK_OPTIONS");
    for (const std::string& more : arguments.options) all += ":" + more;
    platform::Options given;
    bool help = false;
    platform::Line error;
    const std::string text = all;                      // what `given` has views of
    platform::parse_options(text, given, help, error); // a mistake is for the preload library to tell
    if (const std::string list = absolute_list(given.suppressions, "suppressions"); list != given.suppressions)
        all += ":suppressions=" + list;
    if (!arguments.trace.empty()) all += ":trace=" + absolute(arguments.trace, "the trace");
    return all;
}

} // namespace

int run(const RunArguments& arguments)
{
    // A program that went unwatched would pass for one that leaves nothing.
    const std::string reason = why_not_preloadable(find_program(arguments.program[0]));
    if (!reason.empty()) throw std::runtime_error(reason);
    const std::string library = find_preload_library().string();
    if (library.find_first_of(": ") != std::string::npos) // ld.so(8) splits the list at both
        throw std::runtime_error("no colon or blank may be in the path of the preload library: " + library);
    const std::string others = from_environment("LD_PRELOAD");
    setenv("LD_PRELOAD", (others.empty() ? library : library + ":" + others).c_str(), 1);
    setenv("HEAPMARK_OPTIONS", all_options(arguments).c_str(), 1);

    execvp(arguments.program[0], arguments.program.data()); // they end as main's do, with a null pointer
    const int error = errno;
    std::cerr << "heapmark run: " << arguments.program[0] << ": " << std::strerror(error) << "\n";
    return error == ENOENT ? 127 : 126; // as shells and env(1)
}

} // namespace heapmark::program
