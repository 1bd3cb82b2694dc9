// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdlib>

/// So many blocks of 10 bytes as the environment says.
inline int amount(const char* name)
{
    const char* const value = std::getenv(name);
    return value == nullptr ? 0 : std::atoi(value);
}

inline void allocate(int blocks)
{
    void* held[100] = {};
    for (int i = 0; i < blocks; ++i) held[i] = std::malloc(10);
    __asm__ volatile("" : : "r"(&held[0]) : "memory");
    for (void* block : held) std::free(block);
}
