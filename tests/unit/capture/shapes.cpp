// SPDX-License-Identifier: BSL-1.0
// Frames as code without frame pointers has them.
#include "shapes.hpp"

#include <alloca.h>
#include <cstring>

namespace capture_test::shapes {
namespace {

/// Keeps a call from being the last thing a function does, and an object in memory.
inline void keep(void* object) noexcept { asm volatile("" : "+r"(object) : : "memory"); }

} // namespace

[[gnu::noinline]] void recurse(int depth, Callback callback)
{
    if (depth == 0)
        callback();
    else
        recurse(depth - 1, callback);
    keep(&depth);
}

[[gnu::noinline]] void tail_call(int depth, Callback callback)
{
    if (depth == 0) return callback();
    keep(nullptr);
    return tail_call(depth - 1, callback);
}

[[gnu::noinline]] void grow(std::size_t bytes, Callback callback)
{
    void* space = alloca(bytes);
    std::memset(space, 0xa5, bytes);
    keep(space);
    callback();
    keep(space);
}

[[gnu::noinline]] void grow_and_recurse(std::size_t bytes, int depth, Callback callback)
{
    void* space = alloca(bytes / 2 + 1);
    keep(space);
    if (depth == 0)
        grow(bytes, callback);
    else
        grow_and_recurse(bytes, depth - 1, callback);
    keep(space);
}

[[gnu::noinline]] void large_frame(Callback callback)
{
    char space[600000];
    keep(space);
    callback();
    keep(space);
}

template <std::size_t Alignment>
[[gnu::noinline]] void aligned(Callback callback)
{
    alignas(Alignment) char space[Alignment];
    keep(space);
    callback();
    keep(space);
}
template void aligned<32>(Callback);
template void aligned<64>(Callback);
template void aligned<4096>(Callback);

[[gnu::noinline]] void aligned_and_growing(std::size_t bytes, Callback callback)
{
    alignas(64) char space[128];
    void* more = alloca(bytes);
    keep(space);
    keep(more);
    callback();
    keep(space);
}

[[gnu::noinline]] void aligned_recursion(int depth, Callback callback)
{
    alignas(128) char space[128];
    keep(space);
    if (depth == 0)
        callback();
    else
        aligned_recursion(depth - 1, callback);
    keep(space);
}

[[gnu::noinline]] void busy_registers(int depth, Callback callback)
{
    unsigned long values[8];
    for (unsigned long& value : values) {
        value = static_cast<unsigned long>(depth) * 0x9e3779b97f4a7c15UL;
        asm volatile("" : "+r"(value));
    }
    if (depth == 0)
        callback();
    else
        busy_registers(depth - 1, callback);
    asm volatile("" : : "r"(values[0]), "r"(values[1]), "r"(values[2]), "r"(values[3]), "r"(values[4]), "r"(values[5]));
}

} // namespace capture_test::shapes
