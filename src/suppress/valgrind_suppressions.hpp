// SPDX-License-Identifier: BSL-1.0
// Suppressions in the form that Valgrind reads and writes (manual, 2.5 "Suppressing errors").
#pragma once

#include "suppress/named_stack.hpp"
#include "suppress/text_lines.hpp"

#include <heapmark/suppressions.hpp>

namespace heapmark::suppress {

/// Reads the entry of which `lines` has just read the "{", up to its "}". False when it is not one of leaks.
/// Errors: std::invalid_argument, with the place from `suppression.origin`.
bool read_valgrind(TextLines& lines, Suppression& suppression);

/// Whether the frames of an entry are those of a stack, from the allocator's function outwards as far as they go. With
/// inlined calls or without, as Valgrind was told to read them.
[[nodiscard]] bool matches_valgrind(const std::vector<std::string>& frames, const NamedStack& stack, Api api);

} // namespace heapmark::suppress
