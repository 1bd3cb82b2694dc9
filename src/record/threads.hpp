// SPDX-License-Identifier: BSL-1.0
// Who started whom: a record for each thread, kept for ever.
#pragma once

#include <cstdint>

namespace heapmark::record {

struct Thread {
    std::uint32_t parent;     ///< 0: unknown, or the first thread
    std::uint32_t generation; ///< current when it was started
};

/// Numbers a new thread, from 1. Of the first four million it is remembered who started them.
std::uint32_t add_thread(std::uint32_t parent, std::uint32_t generation) noexcept;

/// Whether `thread` is `root`, or was started by it, directly or through others, `since` that generation or later.
bool descends_from(std::uint32_t thread, std::uint32_t root, std::uint32_t since) noexcept;

} // namespace heapmark::record
