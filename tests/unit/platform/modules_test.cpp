// SPDX-License-Identifier: BSL-1.0
// The module registry against what dladdr, dl_iterate_phdr and the files themselves say.
#include "platform/modules.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <link.h>
#include <string>
#include <sys/auxv.h>
#include <thread>
#include <unistd.h>
#include <vector>

using heapmark::platform::Module;
using heapmark::platform::module_at;
using heapmark::platform::module_by_id;
using heapmark::platform::note_unload;
using heapmark::platform::unload_epoch;

namespace {

template <class Function>
std::uintptr_t address_of(Function* function)
{
    return reinterpret_cast<std::uintptr_t>(function);
}

void code_of_this_program() {}

std::string real_path(const char* path)
{
    char* resolved = realpath(path, nullptr);
    if (resolved == nullptr) return {};
    std::string result = resolved;
    std::free(resolved);
    return result;
}

/// From the section headers of the file, where the registry reads the program headers in memory.
std::string build_id_in_file(const char* path)
{
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    Elf64_Ehdr header;
    if (bytes.size() < sizeof header) return {};
    std::memcpy(&header, bytes.data(), sizeof header);
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr section;
        std::memcpy(&section, bytes.data() + header.e_shoff + i * sizeof section, sizeof section);
        Elf64_Nhdr note;
        if (section.sh_type != SHT_NOTE || section.sh_size < sizeof note) continue;
        std::memcpy(&note, bytes.data() + section.sh_offset, sizeof note);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4)
            return bytes.substr(section.sh_offset + sizeof note + 4, note.n_descsz);
    }
    return {};
}

std::string build_id(const Module& module)
{
    return {reinterpret_cast<const char*>(module.build_id), module.build_id_size};
}

class Plugin {
public:
    explicit Plugin(const char* path) : handle_(dlopen(path, RTLD_NOW)) { REQUIRE(handle_ != nullptr); }
    ~Plugin() { close(); }
    Plugin(const Plugin&) = delete;
    Plugin& operator=(const Plugin&) = delete;

    [[nodiscard]] std::uintptr_t code() const
    {
        return reinterpret_cast<std::uintptr_t>(dlsym(handle_, "platform_plugin_function"));
    }
    void close()
    {
        if (handle_ == nullptr) return;
        dlclose(handle_);
        handle_ = nullptr;
        note_unload();
    }

private:
    void* handle_;
};

} // namespace

TEST_CASE("the program")
{
    const Module* module = module_at(address_of(code_of_this_program));
    REQUIRE(module != nullptr);
    CHECK(module->path == real_path("/proc/self/exe"));
    CHECK(module->loaded);
    CHECK(module->id != 0);
    CHECK(module_by_id(module->id) == module);
    Dl_info info{};
    REQUIRE(dladdr(reinterpret_cast<void*>(address_of(code_of_this_program)), &info) != 0);
    CHECK(module->begin == reinterpret_cast<std::uintptr_t>(info.dli_fbase));
    CHECK(build_id(*module) == build_id_in_file(module->path));
    CHECK(module->eh_frame_header > module->tables_begin);
    CHECK(module->eh_frame_header < module->tables_end);
}

TEST_CASE("libraries")
{
    const Module* module = module_at(address_of(&qsort));
    REQUIRE(module != nullptr);
    Dl_info info{};
    REQUIRE(dladdr(reinterpret_cast<void*>(address_of(&qsort)), &info) != 0);
    CHECK(real_path(module->path) == real_path(info.dli_fname));
    CHECK(module->path[0] == '/');
    CHECK(module->bias == reinterpret_cast<std::uintptr_t>(info.dli_fbase));
    CHECK(build_id(*module) == build_id_in_file(module->path));
    CHECK(module->build_id_size > 0);
    CHECK(module_at(module->begin) == module);
    CHECK(module_at(module->end - 1) == module);
    CHECK(module != module_at(address_of(code_of_this_program)));
}

TEST_CASE("the vDSO")
{
    const unsigned long vdso = getauxval(AT_SYSINFO_EHDR);
    if (vdso == 0) return;
    const Module* module = module_at(vdso + 100);
    REQUIRE(module != nullptr);
    CHECK(std::string(module->path) == "[vdso]");
}

TEST_CASE("addresses of no module; ids of no module")
{
    int local = 0;
    errno = 4711;
    for (const std::uintptr_t address : {std::uintptr_t{0}, std::uintptr_t{1}, ~std::uintptr_t{0},
                                         reinterpret_cast<std::uintptr_t>(&local), std::uintptr_t{0x414141414141}})
        CHECK(module_at(address) == nullptr);
    CHECK(errno == 4711);
    CHECK(module_by_id(0) == nullptr);
    CHECK(module_by_id(65535) == nullptr);
}

TEST_CASE("ids have no gaps")
{
    module_at(address_of(code_of_this_program));
    module_at(address_of(&qsort));
    std::uint16_t id = 1;
    while (module_by_id(id) != nullptr) {
        CHECK(module_by_id(id)->id == id);
        ++id;
    }
    CHECK(id >= 3);
    for (unsigned later = id; later < 600; ++later) CHECK(module_by_id(static_cast<std::uint16_t>(later)) == nullptr);
}

TEST_CASE("a library that goes and comes again")
{
    Plugin plugin(HEAPMARK_TEST_PLUGIN);
    const std::uintptr_t code = plugin.code();
    const Module* module = module_at(code);
    REQUIRE(module != nullptr);
    CHECK(std::string(module->path) == HEAPMARK_TEST_PLUGIN);
    CHECK(module->loaded);
    const std::uint16_t id = module->id;
    const auto epoch = unload_epoch();

    plugin.close();
    CHECK(unload_epoch() != epoch);
    CHECK_FALSE(module->loaded);
    CHECK(module_at(code) == nullptr);
    CHECK(module_by_id(id) == module);
    CHECK(std::string(module->path) == HEAPMARK_TEST_PLUGIN);
    CHECK(module_at(address_of(&qsort))->loaded);

    Plugin again(HEAPMARK_TEST_PLUGIN);
    const Module* later = module_at(again.code());
    REQUIRE(later != nullptr);
    CHECK(later->loaded);
    if (again.code() == code)
        CHECK(later == module);
    else
        CHECK(later != module);
}

TEST_CASE("a library opened by a relative name has an absolute path")
{
    const std::string path = HEAPMARK_TEST_PLUGIN;
    const auto slash = path.rfind('/');
    char directory[PATH_MAX];
    REQUIRE(getcwd(directory, sizeof directory) != nullptr);
    REQUIRE(chdir(path.substr(0, slash).c_str()) == 0);
    const Plugin plugin(std::string(".").append(path, slash).c_str());
    REQUIRE(chdir("/") == 0);
    const Module* module = module_at(plugin.code());
    REQUIRE(module != nullptr);
    CHECK(module->path == real_path(path.c_str()));
    REQUIRE(chdir(directory) == 0);
}

TEST_CASE("threads that see a library first, all at once, agree on its id")
{
    // Modules are remembered, so each round needs a file of its own.
    char directory[] = "/tmp/heapmark-modules-XXXXXX";
    REQUIRE(mkdtemp(directory) != nullptr);
    for (int round = 0; round < 20; ++round) {
        const std::string path = std::filesystem::path(directory) / std::to_string(round);
        std::filesystem::copy_file(HEAPMARK_TEST_PLUGIN, path);
        const Plugin plugin(path.c_str());
        constexpr unsigned thread_count = 8;
        std::atomic<unsigned> ready{0};
        const Module* seen[thread_count] = {};
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < thread_count; ++i)
            threads.emplace_back([&, i] {
                ++ready;
                while (ready < thread_count) std::this_thread::yield();
                seen[i] = module_at(plugin.code());
            });
        for (std::thread& thread : threads) thread.join();
        REQUIRE(seen[0] != nullptr);
        for (const Module* module : seen) CHECK(module == seen[0]);
        CHECK(module_by_id(seen[0]->id) == seen[0]);
        CHECK(module_by_id(static_cast<std::uint16_t>(seen[0]->id + 1)) == nullptr);
        CHECK(seen[0]->path == path);
    }
    std::filesystem::remove_all(directory);
}
