// SPDX-License-Identifier: BSL-1.0
// Functions whose frames have given shapes and that call back from the inside.
#pragma once

#include <cstddef>

namespace capture_test::shapes {

using Callback = void (*)();

void recurse(int depth, Callback callback);
void tail_call(int depth, Callback callback);
void grow(std::size_t bytes, Callback callback);
void grow_and_recurse(std::size_t bytes, int depth, Callback callback);
void large_frame(Callback callback);
template <std::size_t Alignment>
void aligned(Callback callback);
void aligned_and_growing(std::size_t bytes, Callback callback);
void aligned_recursion(int depth, Callback callback);
/// Uses all callee-saved registers for data, the frame register too.
void busy_registers(int depth, Callback callback);
/// Built with -mstackrealign, and with -fno-omit-frame-pointer.
void recurse_realigning(int depth, Callback callback);
void recurse_with_frame_pointer(int depth, Callback callback);

} // namespace capture_test::shapes
