// SPDX-License-Identifier: BSL-1.0
// explain, without what frameworks' own frames contain.
#pragma once

#include <heapmark/explain.hpp>

namespace heapmark::adapters {

/// As explain(snapshot); but the frames of this thread between the caller's, which is included, and `frames_end`, an
/// address of its stack, hold nothing. nullptr: all frames hold what is in them.
[[nodiscard]] Explanation search(const Snapshot& snapshot, const void* frames_end);

} // namespace heapmark::adapters
