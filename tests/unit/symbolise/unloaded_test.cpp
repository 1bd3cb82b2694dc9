// SPDX-License-Identifier: BSL-1.0
// Names of code that is gone: unloaded, stripped, replaced on disk. The libraries are built from fixtures/.
#include "real_frames.hpp"

#include <cstring>
#include <filesystem>

using namespace heapmark;
using namespace heapmark::test;

namespace {

/// The lines of plugin_run as the library itself tells them.
struct Lines {
    int line[3];
};
Lines lines_of(Library& library)
{
    Lines lines;
    std::memcpy(&lines, library.symbol<const int>("plugin_lines"), sizeof lines);
    return lines;
}

void check_plugin_calls(const std::vector<Call>& calls, const Lines& lines, const std::string& space)
{
    REQUIRE(calls.size() == 3);
    CHECK(calls[0].function == space + "::inner(void**)");
    CHECK(calls[1].function == space + "::Decoder::open(void**)");
    CHECK(calls[2].function == "plugin_run");
    CHECK(calls[0].inlined);
    CHECK(calls[1].inlined);
    CHECK_FALSE(calls[2].inlined);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(calls[i].line == static_cast<unsigned>(lines.line[i]));
        CHECK(file_name(calls[i].file) == "plugin.cpp");
    }
}

[[gnu::noinline]] void note_caller(void** address) { *address = __builtin_return_address(0); }

/// A copy of a built library under a path of its own, removed at the end.
class Copy {
public:
    explicit Copy(const char* of, const char* name = "library.so")
        : name_(name), path_(std::filesystem::temp_directory_path() /
                             ("heapmark_" + std::to_string(getpid()) + "_" + std::to_string(++number)))
    {
        std::filesystem::create_directory(path_);
        replace_with(of);
    }
    ~Copy() { std::filesystem::remove_all(path_); }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;

    void replace_with(const char* other) const
    {
        std::filesystem::remove(path());
        std::filesystem::copy_file(other, path());
    }
    [[nodiscard]] std::string path() const { return path_ / name_; }
    [[nodiscard]] std::filesystem::path folder() const { return path_; }

private:
    const char* name_;
    std::filesystem::path path_;
    static inline int number = 0;
};

} // namespace

TEST_CASE("inlined calls of a loaded library, innermost first")
{
    Library library(PLUGIN);
    check_plugin_calls(resolve(library.run()), lines_of(library), "codec");
    CHECK(file_name(std::string(module_path(library.run()))) == file_name(PLUGIN));
}

TEST_CASE("a frame that was never looked up before dlclose is named after it")
{
    const Copy copy(PLUGIN);
    Library library(copy.path());
    const Lines lines = lines_of(library);
    const Frame frame = library.run();
    library.close();
    REQUIRE(dlopen(copy.path().c_str(), RTLD_NOW | RTLD_NOLOAD) == nullptr);
    check_plugin_calls(resolve(frame), lines, "codec");
    CHECK(module_path(frame) == copy.path());
}

TEST_CASE("of two libraries at the same addresses one after the other, each frame keeps its own")
{
    const Copy first(PLUGIN);
    const Copy second(PLUGIN_OTHER);
    Frame frames[2];
    Lines lines[2];
    bool same_place = false;
    for (int tries = 0; tries < 20 && !same_place; ++tries) {
        for (int i = 0; i < 2; ++i) {
            Library library((i == 0 ? first : second).path());
            frames[i] = library.run();
            lines[i] = lines_of(library);
        }
        same_place = frames[0].address() == frames[1].address();
    }
    CHECK(same_place); // the kernel gives the same hole again; without that the test shows less
    CHECK(frames[0] != frames[1]);
    check_plugin_calls(resolve(frames[0]), lines[0], "codec");
    check_plugin_calls(resolve(frames[1]), lines[1], "other");
}

TEST_CASE("a file that was replaced since gives no names")
{
    const Copy copy(PLUGIN);
    Library library(copy.path());
    const Frame frame = library.run();
    library.close();
    copy.replace_with(PLUGIN_OTHER);
    const std::vector<Call> calls = resolve(frame);
    REQUIRE(calls.size() == 1);
    CHECK(calls[0].function.empty());
    CHECK(calls[0].file.empty());
    CHECK(module_path(frame) == copy.path());
}

TEST_CASE("a file that is gone gives no names, and none of another file either")
{
    Frame frame;
    {
        const Copy copy(PLUGIN);
        Library library(copy.path());
        frame = library.run();
    }
    const std::vector<Call> calls = resolve(frame);
    REQUIRE(calls.size() == 1);
    CHECK(calls[0].function.empty());
}

TEST_CASE("a stripped library is named from its separate debug file")
{
    Library library(PLUGIN_STRIPPED);
    check_plugin_calls(resolve(library.run()), lines_of(library), "codec");
}

TEST_CASE("the C library's separate debug file, which takes long to read, is left alone")
{
    const std::filesystem::path debug_file = std::filesystem::path(PLUGIN_STRIPPED).parent_path() / "plugin.debug";
    for (const bool as_c_library : {false, true}) {
        const Copy copy(PLUGIN_STRIPPED, as_c_library ? "libc.so.6" : "plugin.so");
        std::filesystem::copy_file(debug_file, copy.folder() / "plugin.debug");
        Library library(copy.path());
        const std::vector<Call> calls = resolve(library.run());
        if (!as_c_library) {
            check_plugin_calls(calls, lines_of(library), "codec");
            continue;
        }
        REQUIRE(calls.size() == 1);
        CHECK(calls[0].function == "plugin_run");
        CHECK(calls[0].line == 0);
    }
}

TEST_CASE("without debug information the symbol table names functions of C")
{
    Library library(NO_DEBUG);
    void* address = nullptr;
    library.symbol<void(void**, void (*)(void**))>("c_run")(&address, note_caller);
    const std::vector<Call> calls = resolve(frame_of(address));
    REQUIRE(calls.size() == 1);
    CHECK(calls[0].function == "c_run");
    CHECK(calls[0].file.empty());
    CHECK(calls[0].line == 0);
}
