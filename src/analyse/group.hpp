// SPDX-License-Identifier: BSL-1.0
// Sorts the blocks of a snapshot by a key, and tells which blocks two snapshots share.
#pragma once

#include "analyse/names.hpp"

#include <string>
#include <vector>

namespace heapmark::analyse {

/// Largest first: bytes, then blocks, then label, then address of the first block. Labels are interned.
/// The caller holds a Guard.
[[nodiscard]] std::vector<Group> group(const Snapshot& snapshot, GroupKey key, Names& names);

/// One snapshot a distinct stack: bytes, then blocks, largest first, then lowest address. Asks for no names, whose cost
/// a report need not pay for stacks that it does not show. The caller holds a Guard.
[[nodiscard]] std::vector<Snapshot> split_by_stack(const Snapshot& snapshot);

/// "parse(char const*) at parser.cpp:41"; "xmlNewDoc in libxml2.so.2"; "libxml2.so.2+0x41"; "(no stack)".
[[nodiscard]] std::string call_site_label(const Stack& stack, Names& names);

/// "generation 4 "load"".
[[nodiscard]] std::string generation_label(Generation generation, Names& names);

/// Function of a call for people; "libxml2.so.2+0x41" without one; "0x41" without a module either.
[[nodiscard]] std::string call_label(const FrameNames& frame, const CallName& call);

/// The caller holds a Guard.
[[nodiscard]] Difference difference(const Snapshot& older, const Snapshot& newer);

} // namespace heapmark::analyse
