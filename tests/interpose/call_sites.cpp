// SPDX-License-Identifier: BSL-1.0
// Call-site records: in functions, templates, inline functions, initialisers and a plugin; never reached; from many
// threads. Each place is found by its line.
#include "both_ways.hpp"

#include <heapmark/call_site.hpp>

#include <dlfcn.h>
#include <sstream>
#include <string>
#include <thread>

namespace {

constexpr unsigned before_main_line = __LINE__ + 1;
int* const before_main = HEAPMARK_NEW(int)(1);

template <class T>
struct Holder {
    static constexpr unsigned line = __LINE__ + 1;
    Holder() : value(HEAPMARK_NEW(T)()) {}
    ~Holder() { delete value; }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    T* value;
};

constexpr unsigned inline_line = __LINE__ + 1;
inline void* take(std::size_t bytes) { return HEAPMARK_MALLOC(bytes); }

constexpr unsigned unreached_line = __LINE__ + 1;
[[maybe_unused]] void* never() { return HEAPMARK_CALLOC(3, 4); }

constexpr unsigned array_line = __LINE__ + 1;
long* longs(std::size_t count) { return HEAPMARK_NEW_ARRAY(long, count); }

std::vector<heapmark::CallSite> at(const char* file, unsigned line)
{
    std::vector<heapmark::CallSite> found;
    for (const heapmark::CallSite& site : heapmark::call_sites())
        if (site.file.find(file) != std::string_view::npos && site.line == line) found.push_back(site);
    return found;
}
std::vector<heapmark::CallSite> at(unsigned line) { return at("call_sites.cpp", line); }

} // namespace

int main()
{
    const auto early = at(before_main_line);
    EXPECT(early.size() == 1 && early[0].calls == 1 && early[0].bytes == sizeof(int) &&
           early[0].expression == "new int");

    {
        const Holder<long> one;
        const Holder<std::string> another;
        const Holder<std::string> third;
    }
    const auto holders = at(Holder<int>::line);
    EXPECT_EQ(holders.size(), 2U);
    std::uint64_t calls = 0;
    for (const auto& holder : holders) calls += holder.calls;
    EXPECT_EQ(calls, 3U);

    constexpr int rounds = 10'000;
    const auto work = [] {
        for (int i = 0; i < rounds; ++i) std::free(take(3));
    };
    std::thread threads[4];
    for (std::thread& thread : threads) thread = std::thread(work);
    for (std::thread& thread : threads) thread.join();
    const auto shared = at(inline_line);
    EXPECT(shared.size() == 1 && shared[0].calls == 4 * rounds && shared[0].bytes == 12 * rounds);
    EXPECT(shared.size() == 1 && shared[0].function.find("take(") != std::string_view::npos &&
           shared[0].function.find("Place") == std::string_view::npos &&
           shared[0].function.find('<') == std::string_view::npos);

    const auto unreached = at(unreached_line);
    EXPECT(unreached.size() == 1 && unreached[0].calls == 0 && unreached[0].expression == "calloc");

    delete[] longs(5);
    const auto array = at(array_line);
    EXPECT(array.size() == 1 && array[0].bytes == 40);

    void* grown = std::malloc(1);
    const unsigned realloc_line = __LINE__ + 1;
    grown = HEAPMARK_REALLOC(grown, 50);
    std::free(grown);
    EXPECT(at(realloc_line).size() == 1 && at(realloc_line)[0].bytes == 50);

    for (int time = 1; time <= 2; ++time) { // also after it was unloaded, under the texts it had
        void* plugin = dlopen(CALL_SITES_PLUGIN, RTLD_NOW | RTLD_LOCAL);
        EXPECT(plugin != nullptr);
        if (plugin == nullptr) return verdict();
        reinterpret_cast<void (*)()>(dlsym(plugin, "use_plugin"))();
        const auto loaded = at("call_sites_plugin.cpp", 4);
        EXPECT(loaded.size() == 1 && loaded[0].calls == static_cast<std::uint64_t>(time));
        EXPECT_EQ(dlclose(plugin), 0);
        EXPECT(dlopen(CALL_SITES_PLUGIN, RTLD_NOW | RTLD_NOLOAD) == nullptr); // the macro does not keep it there
        const auto gone = at("call_sites_plugin.cpp", 4);
        EXPECT(gone.size() == 1 && gone[0].calls == static_cast<std::uint64_t>(time) &&
               gone[0].function.find("use_plugin") != std::string_view::npos);
    }

    std::ostringstream text;
    text << heapmark::call_sites();
    EXPECT(text.str().find("40,000      120,000  ") != std::string::npos);
    delete before_main;
    return verdict();
}
