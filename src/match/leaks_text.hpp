// SPDX-License-Identifier: BSL-1.0
// What a matching found, as text.
#pragma once

#include "match/match.hpp"

#include <heapmark/report.hpp>

#include <string>

namespace heapmark::match {

/// "FILE:LINE: BYTES at ADDRESS leaked" and the record for each leak, with the stack behind the last one that has it; a line
/// of sums for each process, if there are several; the totals. Empty when nothing leaked.
[[nodiscard]] std::string leaks_text(const Matched& matched, const TextOptions& options, bool color);

/// The lines that leaks_text() ends with.
[[nodiscard]] std::string totals_text(const Matched& matched);

} // namespace heapmark::match
