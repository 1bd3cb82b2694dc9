// SPDX-License-Identifier: BSL-1.0
// A library to load, unload and load again. HEAPMARK_TEST_PADDING gives each build frames of another size.
#include <cstddef>

#if !defined(HEAPMARK_TEST_PADDING)
#define HEAPMARK_TEST_PADDING 40
#endif

using Callback = void (*)();

namespace {

Callback on_resolve = nullptr;
int answer() { return 42; }

} // namespace

extern "C" {

__attribute__((visibility("default"), noinline)) void plugin_run(int depth, Callback callback)
{
    char padding[HEAPMARK_TEST_PADDING];
    asm volatile("" : : "r"(&padding[0]) : "memory");
    if (depth == 0)
        callback();
    else
        plugin_run(depth - 1, callback);
    asm volatile("" : : "r"(&padding[0]) : "memory");
}

__attribute__((visibility("default"))) void plugin_on_resolve(Callback callback) { on_resolve = callback; }

// The loader runs this at the first call of plugin_chosen, from inside its binding of the symbol.
int (*plugin_resolver())()
{
    if (on_resolve != nullptr) on_resolve();
    return answer;
}

__attribute__((visibility("default"), ifunc("plugin_resolver"))) int plugin_chosen();

__attribute__((visibility("default"))) int plugin_call_chosen()
{
    const int result = plugin_chosen();
    asm volatile("" : : : "memory");
    return result;
}
}
