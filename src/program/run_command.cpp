// SPDX-License-Identifier: BSL-1.0
// heapmark run -- PROGRAM ...: becomes the program, with the preload library in front.
#include "program/commands.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
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

/// Of keys that are given twice the last one counts.
std::string all_options(const RunArguments& arguments)
{
    std::string all = "report_at_exit=1:" + from_environment("HEAPMARK_OPTIONS");
    for (const std::string& more : arguments.options) all += ":" + more;
    if (!arguments.trace.empty()) {
        const std::string path = fs::absolute(arguments.trace).string(); // whatever folder it works in
        if (path.find(':') != std::string::npos)
            throw std::runtime_error("no colon may be in the trace's path: " + path);
        all += ":trace=" + path;
    }
    return all;
}

} // namespace

int run(const RunArguments& arguments)
{
    const std::string library = find_preload_library().string();
    if (library.find_first_of(": ") != std::string::npos) // ld.so(8) splits the list at both
        throw std::runtime_error("no colon or blank may be in the path of the preload library: " + library);
    const std::string others = from_environment("LD_PRELOAD");
    setenv("LD_PRELOAD", (others.empty() ? library : library + ":" + others).c_str(), 1);
    setenv("HEAPMARK_OPTIONS", all_options(arguments).c_str(), 1);

    std::vector<char*> words;
    for (const std::string& word : arguments.program) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    const int error = errno;
    std::cerr << "heapmark run: " << words[0] << ": " << std::strerror(error) << "\n";
    return error == ENOENT ? 127 : 126; // as shells and env(1)
}

} // namespace heapmark::program
