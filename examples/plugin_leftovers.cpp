// SPDX-License-Identifier: BSL-1.0
// Load a plugin, use it, unload it: what did it leave behind? It is told although the plugin is gone.
#include <heapmark/heapmark.hpp>

#include <dlfcn.h>
#include <iostream>

namespace {

/// Makes thumbnails with a plugin that is loaded for that.
bool make_thumbnails()
{
    void* plugin = dlopen("thumbnails.so", RTLD_NOW); // beside this program
    if (plugin == nullptr) {
        std::cerr << dlerror() << "\n";
        return false;
    }
    const auto thumbnail = reinterpret_cast<int (*)(const char*)>(dlsym(plugin, "thumbnail"));
    for (const char* picture : {"harbour", "summit", "garden"}) thumbnail(picture);
    return dlclose(plugin) == 0;
}

} // namespace

int main()
{
    heapmark::start_accounting();
    const heapmark::module_scope plugin("thumbnails.so");
    if (!make_thumbnails()) return 1;

    const heapmark::Snapshot left = plugin.survivors();
    std::cout << left << "\n";
    heapmark::write_table(std::cout, heapmark::accounting_by_module(heapmark::accounting()));

    return left.size() == 2 && left.bytes() == 5000 + 256 * sizeof(int) ? 0 : 1;
}
