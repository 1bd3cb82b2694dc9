// SPDX-License-Identifier: BSL-1.0
// Functions that lose memory, by number. leaks.cpp has 200 of them, cases/cases.cpp those of tests/cases; the suites that
// run them are compiled once for both.
#pragma once

#include <cstddef>

namespace seeded {

extern const std::size_t count;
constexpr std::size_t count_max = 200; ///< for frameworks that want to know it when they compile

/// Prints a line that says which, and runs it.
void leak(std::size_t index);

} // namespace seeded
