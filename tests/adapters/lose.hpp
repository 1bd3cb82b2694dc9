// SPDX-License-Identifier: BSL-1.0
// A leak that no compiler removes.
#pragma once

inline void* volatile lose_sink; // what is stored here and stored over again is lost

inline void lose(void* block)
{
    lose_sink = block;
    lose_sink = nullptr;
}
