// SPDX-License-Identifier: BSL-1.0
// Frames that all realign the stack; CMakeLists.txt gives the option.
#include "shapes.hpp"

namespace capture_test::shapes {

[[gnu::noinline]] void recurse_realigning(int depth, Callback callback)
{
    if (depth == 0)
        callback();
    else
        recurse_realigning(depth - 1, callback);
    asm volatile("" : : "r"(&depth) : "memory");
}

} // namespace capture_test::shapes
