// SPDX-License-Identifier: BSL-1.0
// Calls made to be on the stack: each level is a function of its own, with a return address and a frame size of its own.
// Each file that includes this has its own copies, compiled with its own options.
#pragma once

#include <cstdint>

namespace bench {
namespace {

/// Calls `function(argument)` below `Levels` frames.
template <int Levels>
[[gnu::noinline]] void descend(void (*function)(void*), void* argument)
{
    volatile char room[8 + Levels % 5 * 16];
    room[0] = 1;
    if constexpr (Levels <= 1)
        function(argument);
    else
        descend<Levels - 1>(function, argument);
    room[sizeof room - 1] = room[0]; // not a tail call
}

/// Calls `function(argument)` below `Levels` frames; the bits of `path` choose where each level calls the next.
template <int Levels>
[[gnu::noinline]] void walk(std::uint64_t path, void (*function)(void*), void* argument)
{
    volatile char room[8 + Levels % 3 * 16];
    room[0] = 1;
    if constexpr (Levels == 0)
        function(argument);
    else if ((path & 1) != 0)
        walk<Levels - 1>(path >> 1, function, argument);
    else {
        room[0] = 2;
        walk<Levels - 1>(path >> 1, function, argument);
    }
    room[sizeof room - 1] = room[0];
}

} // namespace
} // namespace bench
