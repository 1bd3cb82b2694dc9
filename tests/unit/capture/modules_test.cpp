// SPDX-License-Identifier: BSL-1.0
// Stacks through libraries that come and go, and through the loader itself.
#include "compare.hpp"

#include "platform/modules.hpp"

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <string>

using namespace capture_test;

namespace {

Comparison seen;
unsigned looks;
std::uint64_t frames[32];
unsigned frame_count;

void look()
{
    ++looks;
    seen = compare_here();
    frame_count = capture_here(frames, 32);
}

using Run = void (*)(int, void (*)());

class Plugin {
public:
    explicit Plugin(const char* path) : handle_(dlopen(path, RTLD_LAZY | RTLD_LOCAL)) { REQUIRE(handle_ != nullptr); }
    ~Plugin()
    {
        dlclose(handle_);
        heapmark::platform::note_unload();
    }
    Plugin(const Plugin&) = delete;
    Plugin& operator=(const Plugin&) = delete;

    template <class Function>
    Function function(const char* name) const
    {
        return reinterpret_cast<Function>(dlsym(handle_, name));
    }
    void run(int depth) const { function<Run>("plugin_run")(depth, look); }

private:
    void* handle_;
};

const heapmark::platform::Module* module_of_frame(unsigned index)
{
    return heapmark::platform::module_by_id(static_cast<std::uint16_t>(frames[index] >> 48));
}

} // namespace

TEST_CASE("from a loaded library's callback")
{
    const PreparedThread prepared;
    const Plugin plugin(HEAPMARK_TEST_PLUGIN);
    plugin.run(5);
    CHECK_SAME_STACK(seen, 11);
    REQUIRE(module_of_frame(2) != nullptr);
    CHECK(std::string(module_of_frame(2)->path) == HEAPMARK_TEST_PLUGIN);
    CHECK(module_of_frame(0) != module_of_frame(2));
    CHECK(frame_count == seen.depth);
}

TEST_CASE("unloading, and loading the same or another library in its place")
{
    const PreparedThread prepared;
    const heapmark::platform::Module* first = nullptr;
    for (int round = 0; round < 6; ++round) {
        CAPTURE(round);
        const bool other = round % 2 == 1;
        const Plugin plugin(other ? HEAPMARK_TEST_OTHER_PLUGIN : HEAPMARK_TEST_PLUGIN);
        for (int depth = 0; depth < 4; ++depth) {
            plugin.run(depth);
            CHECK_SAME_STACK(seen, 6 + depth);
        }
        const auto* module = module_of_frame(2);
        REQUIRE(module != nullptr);
        CHECK(std::string(module->path) == (other ? HEAPMARK_TEST_OTHER_PLUGIN : HEAPMARK_TEST_PLUGIN));
        CHECK(module->loaded);
        if (first == nullptr) first = module;
        if (other) CHECK(module != first);
    }
    CHECK_FALSE(first->loaded);
}

TEST_CASE("another library in the place of one whose unloading nobody told of")
{
    const PreparedThread prepared;
    void* handle = dlopen(HEAPMARK_TEST_PLUGIN, RTLD_LAZY);
    REQUIRE(handle != nullptr);
    reinterpret_cast<Run>(dlsym(handle, "plugin_run"))(3, look);
    CHECK_SAME_STACK(seen, 9);
    const auto* module = module_of_frame(2);
    REQUIRE(module != nullptr);
    dlclose(handle);
    const auto epoch = heapmark::platform::unload_epoch();
    const Plugin other(HEAPMARK_TEST_OTHER_PLUGIN);
    const auto code = reinterpret_cast<std::uintptr_t>(other.function<Run>("plugin_run"));
    if (code < module->begin || code >= module->end) return; // it came to lie elsewhere
    // Seeing one address of it is enough.
    heapmark::platform::module_at(code);
    CHECK_FALSE(module->loaded);
    CHECK(heapmark::platform::unload_epoch() != epoch);
    other.run(3);
    CHECK_SAME_STACK(seen, 9);
}

TEST_CASE("inside the loader's binding of a symbol")
{
    const PreparedThread prepared;
    const Plugin plugin(HEAPMARK_TEST_PLUGIN);
    looks = 0;
    plugin.function<void (*)(void (*)())>("plugin_on_resolve")(look);
    CHECK(plugin.function<int (*)()>("plugin_call_chosen")() == 42);
    if (looks == 0) return; // LD_BIND_NOW, or a linker that binds at once: resolved before we could ask to be told
    CHECK_SAME_STACK(seen, 9);
}
