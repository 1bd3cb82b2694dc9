// SPDX-License-Identifier: BSL-1.0
// Frames that all keep a frame pointer; CMakeLists.txt gives the option.
#include "shapes.hpp"

namespace capture_test::shapes {

[[gnu::noinline]] void recurse_with_frame_pointer(int depth, Callback callback)
{
    if (depth == 0)
        callback();
    else
        recurse_with_frame_pointer(depth - 1, callback);
    asm volatile("" : : "r"(&depth) : "memory");
}

} // namespace capture_test::shapes
