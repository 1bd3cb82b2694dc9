// SPDX-License-Identifier: BSL-1.0
// The dynamic linker's allocations, and those made while it holds its locks: dlsym, dlerror, dlopen, dlclose,
// callbacks of dl_iterate_phdr, also while another thread opens and closes libraries.
#include "both_ways.hpp"

#include <cstring>
#include <link.h>
#include <pthread.h>

namespace {

int allocate_in_callback(dl_phdr_info*, std::size_t, void* count)
{
    void* block = opaque(std::malloc(77));
    block = opaque(std::realloc(block, 7777));
    std::free(block);
    ++*static_cast<int*>(count);
    return 0;
}

void walk_modules()
{
    int modules = 0;
    dl_iterate_phdr(allocate_in_callback, &modules);
    EXPECT(modules >= 3);
}

void open_and_close()
{
    void* library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!EXPECT(library != nullptr)) return;
    auto* block = static_cast<void**>(dlsym(library, "library_block"));
    EXPECT(block != nullptr && *block != nullptr);
    EXPECT_EQ(dlclose(library), 0);
}

void ask_in_vain()
{
    EXPECT(dlsym(RTLD_DEFAULT, "a_function_that_nobody_defines") == nullptr);
    const char* error = dlerror(); // a text on the heap
    EXPECT(error != nullptr && std::strstr(error, "a_function_that_nobody_defines") != nullptr);
    EXPECT(dlopen("/no/such/library.so", RTLD_NOW) == nullptr);
    EXPECT(dlerror() != nullptr);
    EXPECT(dlerror() == nullptr);
}

std::atomic<bool> stop{false};

void* open_and_close_for_ever(void*)
{
    while (!stop.load()) open_and_close();
    return nullptr;
}

} // namespace

int main()
{
    open_and_close();
    ask_in_vain();
    walk_modules();
    const Since since;
    for (int i = 0; i < 20; ++i) {
        open_and_close();
        ask_in_vain();
        walk_modules();
    }
    EXPECT(since.blocks() <= 2); // the linker may keep a table that it grew
    const std::uint64_t kept = since.blocks();
    for (int i = 0; i < 20; ++i) {
        open_and_close();
        ask_in_vain();
    }
    EXPECT_EQ(since.blocks(), kept);

    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, nullptr, open_and_close_for_ever, nullptr), 0);
    for (int i = 0; i < 300; ++i) walk_modules();
    stop = true;
    pthread_join(thread, nullptr);
    EXPECT_EQ(since.blocks(), kept);
    return verdict();
}
