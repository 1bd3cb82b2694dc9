// SPDX-License-Identifier: BSL-1.0
// What plugins leave behind: under their names and those of their functions after they were unloaded, and also after
// another one has come to lie at the same addresses.
#include <heapmark/report.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

using heapmark::Block;
using heapmark::module_scope;
using heapmark::Snapshot;

namespace {

[[gnu::noinline]] void* host_allocate(std::size_t size)
{
    void* block = std::malloc(size);
    heapmark::escape(block);
    return block;
}

/// A plugin while it is loaded.
class Plugin {
public:
    explicit Plugin(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
    {
        REQUIRE_MESSAGE(handle_ != nullptr, dlerror());
    }
    ~Plugin() { CHECK(dlclose(handle_) == 0); }
    Plugin(const Plugin&) = delete;
    Plugin& operator=(const Plugin&) = delete;

    void* handle() const { return handle_; }
    void* address() const { return dlsym(handle_, "plugin_allocate"); }
    void* allocate(std::size_t size) const { return reinterpret_cast<void* (*)(std::size_t)>(address())(size); }
    void* call(void* (*function)(std::size_t), std::size_t size) const
    {
        return reinterpret_cast<void* (*)(void* (*)(std::size_t), std::size_t)>(dlsym(handle_, "plugin_call"))(function,
                                                                                                               size);
    }

private:
    void* handle_;
};

bool is_loaded(const std::string& path)
{
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (handle != nullptr) dlclose(handle);
    return handle != nullptr;
}

void free_all(const Snapshot& blocks)
{
    const std::vector<Block> copy(blocks.begin(), blocks.end());
    for (const Block& block : copy) std::free(block.address);
}

std::string innermost(const Block& block) { return heapmark::resolve(block.stack[0]).back().function; }

/// A folder of its own, removed at the end.
class Folder {
public:
    Folder() : path_(std::filesystem::temp_directory_path() / ("heapmark_modules_" + std::to_string(getpid())))
    {
        std::filesystem::create_directory(path_);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    std::filesystem::path operator/(const char* name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

} // namespace

TEST_CASE("load, use, unload, nothing left")
{
    const module_scope plugin(RED);
    {
        const Plugin red(RED);
        std::free(red.allocate(100));
    }
    CHECK_FALSE(is_loaded(RED));
    CHECK(plugin.survivors().empty());
    CHECK(plugin.module() == RED);
}

TEST_CASE("what a plugin left is told under its name, with its functions, once it is gone; what others left is not")
{
    setenv("PLUGIN_CONSTRUCTOR_KEEPS", "1", 1);
    const module_scope plugin(RED);
    void* own = host_allocate(5);
    {
        const Plugin red(RED);
        red.allocate(777);
        red.call(host_allocate, 888);
    }
    unsetenv("PLUGIN_CONSTRUCTOR_KEEPS");
    CHECK_FALSE(is_loaded(RED));
    const Snapshot left = plugin.survivors();
    REQUIRE(left.size() == 3); // 31 by its constructor
    CHECK(left.bytes() == 31 + 777 + 888);
    for (const Block& block : left) {
        CHECK(plugin.is_from(block));
        CHECK(innermost(block).find(block.size == 888 ? "host_allocate" : "red_plugin") != std::string::npos);
    }
    CHECK(heapmark::survivors(plugin.first()).size() >= 4);
    std::map<std::string_view, std::uint64_t> modules;
    for (const heapmark::Group& group : heapmark::survivors(plugin.first()).group_by(heapmark::by_module))
        modules[group.label()] = group.bytes();
    CHECK(modules["module_scope_red.so"] == 31 + 777); // its call site; the last block's is in the host
    free_all(left);
    std::free(own);
    CHECK(plugin.survivors().empty());
}

TEST_CASE("another module at the same addresses is another module")
{
    const module_scope red_scope(RED);
    const module_scope blue_scope(BLUE);
    bool same_place = false;
    std::size_t tries = 0;
    while (!same_place && tries < 20) {
        ++tries;
        void* at_red = nullptr;
        void* at_blue = nullptr;
        {
            const Plugin red(RED);
            at_red = red.address();
            red.allocate(100);
        }
        {
            const Plugin blue(BLUE);
            at_blue = blue.address();
            blue.allocate(200);
        }
        same_place = at_red == at_blue;
    }
    CHECK(same_place);
    const Snapshot red = red_scope.survivors();
    const Snapshot blue = blue_scope.survivors();
    CHECK(red.size() == tries);
    CHECK(red.bytes() == tries * 100);
    CHECK(blue.size() == tries);
    CHECK(blue.bytes() == tries * 200);
    std::set<std::uintptr_t> of_red;
    std::set<std::uintptr_t> of_blue;
    for (const Block& block : red) {
        CHECK(innermost(block).find("red_plugin") != std::string::npos);
        of_red.insert(block.stack[0].address());
    }
    for (const Block& block : blue) {
        CHECK(innermost(block).find("blue_plugin") != std::string::npos);
        of_blue.insert(block.stack[0].address());
    }
    if (same_place) {
        bool shared = false;
        for (const std::uintptr_t address : of_red) shared = shared || of_blue.count(address) != 0;
        CHECK(shared); // the return addresses alone would not tell them apart
    }
    free_all(red);
    free_all(blue);
}

TEST_CASE("by the handle, by other names, by links, and by paths from here")
{
    const Folder folder;
    std::filesystem::copy_file(RED, folder / "copy.so");
    std::filesystem::create_symlink(folder / "copy.so", folder / "link.so");
    const std::string copy = folder / "copy.so";
    const std::string link = folder / "link.so";
    const std::filesystem::path here = std::filesystem::current_path();
    std::filesystem::current_path(folder / "");
    const std::vector<module_scope> scopes{module_scope(copy.c_str()), module_scope(link.c_str()),
                                           module_scope("copy.so"),    module_scope("copy"),
                                           module_scope("./copy.so"),  module_scope("./link.so")};
    const module_scope other("link.so"); // not its name
    std::filesystem::current_path(here);
    for (const std::string& loaded_as : {copy, link}) {
        Plugin* red = new Plugin(loaded_as);
        const module_scope by_handle(red->handle());
        CHECK(by_handle.module() == loaded_as);
        red->allocate(64);
        delete red;
        CHECK(by_handle.survivors().size() == 1);
        for (const module_scope& scope : scopes) {
            CAPTURE(scope.module());
            if (loaded_as == link && scope.module().find('/') == std::string_view::npos) continue; // by name alone
            REQUIRE(scope.survivors().size() == 1);
        }
        CHECK(other.survivors().size() == (loaded_as == link ? 1 : 0));
        free_all(by_handle.survivors());
    }
    CHECK_THROWS_AS(module_scope(static_cast<void*>(nullptr)), std::invalid_argument);
    CHECK(module_scope("no such module").survivors().empty());
    CHECK(module_scope("").survivors().empty());
}

TEST_CASE("a file that is loaded again is the same module, and a scope begins when it is made")
{
    const module_scope first(RED);
    {
        const Plugin red(RED);
        red.allocate(10);
    }
    const module_scope second(RED);
    {
        const Plugin blue(BLUE); // takes the place
        const Plugin red(RED);
        red.allocate(20);
    }
    CHECK(first.survivors().size() == 2);
    CHECK(second.survivors().size() == 1);
    CHECK(second.survivors().bytes() == 20);
    free_all(first.survivors());
}

TEST_CASE("accounts of modules, after they were unloaded and at the same addresses")
{
    heapmark::start_accounting();
    const heapmark::Accounting before = heapmark::accounting();
    std::vector<void*> blocks;
    for (int i = 0; i < 3; ++i) {
        {
            const Plugin red(RED);
            blocks.push_back(red.allocate(1'000));
            std::free(red.allocate(500));
        }
        {
            const Plugin blue(BLUE);
            blocks.push_back(blue.allocate(2'000));
        }
    }
    std::map<std::string, heapmark::ModuleAccount> modules;
    for (const heapmark::ModuleAccount& module : heapmark::accounting_by_module(heapmark::accounting(before)))
        modules[std::string(module.module)] = module;
    CHECK(modules[RED].allocations == 6);
    CHECK(modules[RED].frees == 3);
    CHECK(modules[RED].net_bytes == 3 * 1'000);
    CHECK(modules[RED].total_bytes == 3 * (1'000 + 504));
    CHECK(modules[RED].slack_bytes == 3 * 4);
    CHECK(modules[BLUE].allocations == 3);
    CHECK(modules[BLUE].net_bytes == 3 * 2'008);
    CHECK(modules[BLUE].frees == 0);
    for (void* block : blocks) std::free(block);
    for (const heapmark::ModuleAccount& module : heapmark::accounting_by_module(heapmark::accounting(before)))
        if (module.module == RED || module.module == BLUE) CHECK(module.net_bytes == 0);
}
