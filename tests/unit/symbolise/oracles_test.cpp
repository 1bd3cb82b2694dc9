// SPDX-License-Identifier: BSL-1.0
// Names of this program's own frames against addr2line, dladdr and Boost.Stacktrace.
#define BOOST_STACKTRACE_USE_BACKTRACE
#include "real_frames.hpp"

#include "analyse/signature.hpp"

#include <heapmark/boost_stacktrace.hpp>

#include <algorithm>
#include <boost/stacktrace.hpp>
#include <cstdio>
#include <cstdlib>
#include <execinfo.h>
#include <link.h>
#include <memory>
#include <search.h>
#include <sstream>

using namespace heapmark;
using namespace heapmark::test;

namespace {

std::vector<void*> addresses; // of the deepest stack, as glibc unwinds it

[[gnu::noinline]] void note_stack()
{
    addresses.resize(64);
    addresses.resize(static_cast<std::size_t>(backtrace(addresses.data(), 64)));
}

template <class T>
struct Walker {
    T value;
    [[gnu::always_inline]] inline int step(int depth)
    {
        if (depth == 0) note_stack();
        return static_cast<int>(value);
    }
    [[gnu::noinline]] int walk(int depth) const
    {
        Walker copy = *this;
        const int below = depth > 0 ? walk(depth - 1) : 0;
        return copy.step(depth) + below;
    }
};

int compare(const void* a, const void* b)
{
    if (addresses.empty()) Walker<long>{7}.walk(3);
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

/// Return addresses of a stack through inlined, templated, recursive and lambda code, and through the C library.
std::vector<Frame> some_stack()
{
    addresses.clear();
    const auto lambda = [](const int* numbers, std::size_t count) {
        return lfind(&numbers[1], numbers, &count, sizeof *numbers, compare); // sanitizers put nothing in front of it
    };
    const int numbers[] = {3, 1, 2};
    escape(lambda(numbers, 3));
    std::vector<Frame> frames;
    for (void* address : addresses) frames.push_back(frame_of(address));
    return frames;
}

struct Said {
    std::string function;
    std::string file;
    unsigned line;
};

std::string plain_name(const std::string& function)
{
    return analyse::without_template_arguments(analyse::split_signature(function).name);
}

/// Debug information may leave the scope out.
bool end_alike(const std::string& a, const std::string& b) { return a.ends_with(b) || b.ends_with(a); }

/// What binutils say: pairs of lines "function" and "file:line", innermost first.
std::vector<Said> addr2line(Frame frame)
{
    const platform::Module& module = *platform::module_by_id(frame.module());
    std::ostringstream command;
    command << "addr2line -f -i -C -e " << module.path << " 0x" << std::hex << frame.address() - 1 - module.bias;
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.str().c_str(), "r"), pclose);
    REQUIRE(pipe != nullptr);
    std::vector<Said> said;
    char line[4096];
    while (std::fgets(line, sizeof line, pipe.get()) != nullptr) {
        Said& one = said.emplace_back();
        one.function = line;
        one.function.pop_back();
        REQUIRE(std::fgets(line, sizeof line, pipe.get()) != nullptr);
        one.file = line;
        one.line = static_cast<unsigned>(std::strtoul(one.file.c_str() + one.file.rfind(':') + 1, nullptr, 10));
        one.file.resize(one.file.rfind(':'));
    }
    return said;
}

} // namespace

TEST_CASE("addr2line names the same calls, files and lines")
{
    std::size_t compared = 0;
    std::size_t inlined = 0;
    for (const Frame frame : some_stack()) {
        if (module_path(frame).find("/unit_symbolise") == std::string_view::npos) continue;
        const std::vector<Said> said = addr2line(frame);
        const std::vector<Call> calls = resolve(frame);
        // Not in doctest's header, whose file addr2line of binutils 2.40 gets wrong in clang's DWARF 5.
        if (file_name(calls.back().file) != "oracles_test.cpp") continue;
        REQUIRE(calls.size() == said.size());
        for (std::size_t i = 0; i < calls.size(); ++i) {
            CAPTURE(said[i].function);
            CAPTURE(calls[i].function);
            CHECK(calls[i].line == said[i].line);
            CHECK(file_name(calls[i].file) == file_name(said[i].file));
            // For the innermost call addr2line prefers the symbol table, which knows only the outermost.
            if (i > 0 || !calls[i].inlined)
                CHECK(end_alike(plain_name(said[i].function), plain_name(calls[i].function)));
            CHECK(calls[i].inlined == (i + 1 < calls.size()));
            ++compared;
            if (calls[i].inlined) ++inlined;
        }
    }
    CHECK(compared >= 6);
    CHECK(inlined >= 1);
}

TEST_CASE("Boost.Stacktrace gives the outermost call the same name, file and line")
{
    std::size_t compared = 0;
    for (const Frame frame : some_stack()) {
        const boost::stacktrace::frame boost(reinterpret_cast<const void*>(frame.address() - 1));
        // In the C library, Boost prefers the exported alias of the function.
        if (boost.source_file().empty() || module_path(frame).find("/unit_symbolise") == std::string_view::npos)
            continue;
        const Call call = resolve(frame).back();
        CHECK(call.line == boost.source_line());
        CHECK(call.file == boost.source_file());
        CHECK(call.function == boost.name().substr(0, boost.name().find(" [clone ")));
        ++compared;
    }
    CHECK(compared >= 5);
}

TEST_CASE("a stack becomes one of Boost.Stacktrace")
{
    const std::vector<Frame> frames = some_stack();
    const boost::stacktrace::stacktrace boost = to_boost(Stack(frames.data(), frames.size()));
    REQUIRE(boost.size() == frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i)
        CHECK(reinterpret_cast<std::uintptr_t>(boost[i].address()) == frames[i].address());
    CHECK(to_boost(Stack{}).size() == 0);
}

TEST_CASE("functions of the C library are named as dladdr names them")
{
    std::size_t compared = 0;
    for (const Frame frame : some_stack()) {
        if (module_path(frame).find("libc.so") == std::string_view::npos) continue;
        Dl_info info{};
        const ElfW(Sym)* symbol = nullptr;
        if (dladdr1(reinterpret_cast<const void*>(frame.address() - 1), &info,
                    const_cast<void**>(reinterpret_cast<const void**>(&symbol)), RTLD_DL_SYMENT) == 0 ||
            symbol == nullptr)
            continue;
        // The nearest exported symbol is the function's only when it covers the address.
        const auto begin = reinterpret_cast<std::uintptr_t>(info.dli_saddr);
        if (frame.address() - 1 - begin >= symbol->st_size) continue;
        const std::string function = resolve(frame).back().function;
        if (std::string_view(info.dli_sname).starts_with("__libc_start")) continue; // three names, any may be given
        CHECK(function == std::string(info.dli_sname));
        ++compared;
    }
    CHECK(compared >= 1);
}
