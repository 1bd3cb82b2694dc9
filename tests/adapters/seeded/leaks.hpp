// SPDX-License-Identifier: BSL-1.0
// 200 functions, each of which loses memory: 10 ways, each 0 to 12 calls deep and with copies of the lost address in up
// to 256 words of frames that have ended. What is left of those must hold nothing.
#pragma once

#include <cstddef>

namespace seeded {

#ifdef HEAPMARK_TEST_CASES
constexpr std::size_t count = 14; // cases/cases.cpp, in place of leaks.cpp
#else
constexpr std::size_t count = 200;
#endif

/// Prints a line that says which, and runs it.
void leak(std::size_t index);

} // namespace seeded
