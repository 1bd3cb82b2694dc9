// SPDX-License-Identifier: BSL-1.0
// A plugin that allocates as it is told. Built twice, with functions of different names and of the same sizes, so that
// one may come to lie where the other was.
#include <cstddef>
#include <cstdlib>

#ifndef PLUGIN_FUNCTION
#define PLUGIN_FUNCTION red_plugin
#endif

namespace {

void* kept_by_constructor = nullptr;

[[gnu::noinline]] void* PLUGIN_FUNCTION(std::size_t size)
{
    void* block = std::malloc(size);
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

[[gnu::constructor]] void loaded()
{
    if (std::getenv("PLUGIN_CONSTRUCTOR_KEEPS") != nullptr) kept_by_constructor = PLUGIN_FUNCTION(31);
}

} // namespace

extern "C" __attribute__((visibility("default"))) void* plugin_allocate(std::size_t size)
{
    void* block = PLUGIN_FUNCTION(size);
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

extern "C" __attribute__((visibility("default"))) void* plugin_call(void* (*function)(std::size_t), std::size_t size)
{
    void* block = function(size);
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}
