// SPDX-License-Identifier: BSL-1.0
// Findings in words.
#pragma once

#include "suppress/named_stack.hpp"

#include <heapmark/adapter.hpp>

namespace heapmark::adapters {

/// "3 blocks, 18 bytes".
[[nodiscard]] std::string in_words(std::uint64_t blocks, std::uint64_t bytes);
[[nodiscard]] std::string in_words(const Snapshot& blocks);

/// What asked for the memory, in a form that the next build has too: no line, no address.
[[nodiscard]] std::string site_of(const suppress::NamedStack& stack);

/// One snapshot a call stack, as people read it, largest first.
[[nodiscard]] std::vector<Snapshot> by_stack_of(const Snapshot& blocks);

/// Where a way to a block begins: "global registry", "a variable of draw(Scene&)" ....
[[nodiscard]] std::string in_words(const Root& root);

/// A finding with its site and place, of which the rest is to be said.
[[nodiscard]] Finding finding_at(const suppress::NamedStack& names);

/// The finding of blocks that share a stack, left by `test`; `what` completes the title.
[[nodiscard]] Finding finding_of(const std::string& test, const Snapshot& stack, const std::string& what,
                                 const std::string& source_root);

/// One finding of many, at least one, that an earlier run of the test has told: a line each.
[[nodiscard]] Finding told_before(const std::string& test, const std::vector<Finding>& findings,
                                  const std::string& source_root);

/// The line that tells of held memory.
[[nodiscard]] std::string held_line(const Snapshot& stack, const Explanation& why, const std::string& source_root);

} // namespace heapmark::adapters
