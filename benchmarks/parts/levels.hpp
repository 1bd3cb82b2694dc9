// SPDX-License-Identifier: BSL-1.0
// Frames to walk over. levels.cpp is compiled twice: with and without frame pointers.
#pragma once

#define BENCH_DECLARE_LEVELS(kind)                                                                                     \
    namespace bench::kind {                                                                                            \
    /* Calls function(argument) below 8 frames, or 32. */                                                              \
    void descend_8(void (*function)(void*), void* argument);                                                           \
    void descend_32(void (*function)(void*), void* argument);                                                          \
    /* Below 24 frames that stay, while goes_on(argument): calls step(argument) below 8 more, each time along */       \
    /* another of 256 paths. */                                                                                        \
    void descend_and_walk(void (*step)(void*), void* argument, bool (*goes_on)(void*));                                \
    }

BENCH_DECLARE_LEVELS(with_frame_pointers)
BENCH_DECLARE_LEVELS(without_frame_pointers)

#undef BENCH_DECLARE_LEVELS
