// SPDX-License-Identifier: BSL-1.0
// What tests allocated, as Google Test's XML and the option junit have it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace heapmark::program {

struct Used {
    std::uint64_t allocations = 0;
    std::uint64_t allocated_bytes = 0;
    std::uint64_t peak_bytes = 0;
};

/// By "Suite.Test". Of a test that was repeated, the last time counts.
using TestResults = std::map<std::string, Used>;

/// Errors: throws std::runtime_error, with the path and the remedy, when the file is no such XML or has no test with
/// heapmark's properties.
[[nodiscard]] TestResults read_test_results(const std::string& path);

} // namespace heapmark::program
