// SPDX-License-Identifier: BSL-1.0
// Roots as the public headers tell of them, with the names of what they are part of.
#pragma once

#include "api/root_details.hpp"
#include "platform/roots.hpp"

#include <heapmark/heapmark.hpp>

namespace heapmark {

/// The pointer that lies `offset` behind the first word of the range. `detail`: of that word, or nullptr. `next`: where in
/// the block that it points to the next pointer lies, 0 when there is none: a thread's variables and specific values may be
/// in a block. The caller holds a Guard.
[[nodiscard]] Root root_at(const platform::Root& range, std::uint64_t offset, const RootDetail* detail,
                           std::uintptr_t next);

} // namespace heapmark
