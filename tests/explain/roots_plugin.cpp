// SPDX-License-Identifier: BSL-1.0
// A library whose thread_local variable holds what it is given.
namespace {
thread_local void* plugin_place[3];
}

extern "C" void plugin_keep(void* block)
{
    plugin_place[1] = block;
    asm volatile("" : : "r"(&plugin_place) : "memory");
}
