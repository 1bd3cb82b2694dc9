// SPDX-License-Identifier: BSL-1.0
// Situation: a plugin allocates, keeps nothing and is unloaded before the leak
// report is written.  Reports then show "unknown module" instead of names.
//
// Build twice from this file:
//   g++ -std=c++17 -g -fPIC -shared -DCASE_PLUGIN 12-plugin-unloaded.cpp -o case12plugin.so
//   g++ -std=c++17 -g 12-plugin-unloaded.cpp -o case12 -ldl
// and run it in the folder that holds case12plugin.so.
//
// Right answer: survivors from plugin_make = 1 block of 777 bytes, lost.  Its stack
// must still name plugin_make, or at least case12plugin.so plus an offset into the
// file, although the module is gone; and when the plugin is loaded again (perhaps
// elsewhere) frames of the first load must not be named after the second.
#include "case.h"
#include <cstdlib>

#ifdef CASE_PLUGIN
extern "C" CASE_NOINLINE void plugin_make()
{
    void* p = std::malloc(777);
    CASE_KEEP(p);
}
#else
#include <dlfcn.h>

CASE_NOINLINE bool use_plugin()
{
    void* h = dlopen("./case12plugin.so", RTLD_NOW);
    if (!h) return false;
    auto make = reinterpret_cast<void (*)()>(dlsym(h, "plugin_make"));
    if (!make) return false;
    make();
    return dlclose(h) == 0;
}

int main()
{
    CASE_MARK();
    bool ok = use_plugin();
    CASE_SCRUB_STACK();
    CASE_EXPECT_FROM("plugin_make", 1, 777);
    CASE_EXPECT_LOST(1, 777);
    CASE_MARK();
    ok = use_plugin() && ok;
    CASE_SCRUB_STACK();
    CASE_EXPECT_FROM("plugin_make", 1, 777);
    return ok ? 0 : 1;
}
#endif
