// SPDX-License-Identifier: BSL-1.0
// Roots as the public headers tell of them, with the names of what they are part of.
#pragma once

#include "platform/roots.hpp"

#include <heapmark/heapmark.hpp>

namespace heapmark {

/// The pointer that lies `offset` behind the first word of the range. The caller holds a Guard.
[[nodiscard]] Root root_at(const platform::Root& range, std::uint64_t offset);

} // namespace heapmark
