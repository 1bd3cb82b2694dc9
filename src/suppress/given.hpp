// SPDX-License-Identifier: BSL-1.0
// The suppressions that HEAPMARK_OPTIONS names, and what is said of them in the end.
#pragma once

#include <heapmark/suppressions.hpp>

#include <string_view>

namespace heapmark::suppress {

/// Adds the files of the option: paths, separated by commas. Errors: as Suppressions::add_file.
void add_files(Suppressions& suppressions, std::string_view paths);

/// Lines for those that matched nothing, or too much of all blocks: what they matched, and `other_blocks`. Built-in ones
/// are passed over.
[[nodiscard]] std::string notes_on(const Suppressions& suppressions, std::uint64_t other_blocks);

} // namespace heapmark::suppress
