// SPDX-License-Identifier: BSL-1.0
// Front of the room: reports as text. Functions of their arguments; who prints them is api's business.
// The caller holds a Guard.
#pragma once

#include "analyse/names.hpp"

#include <heapmark/report.hpp>

#include <string>

namespace heapmark::report {

class LeftOut;

[[nodiscard]] std::string survivors_text(const Snapshot& snapshot, const TextOptions& options, bool color,
                                         analyse::Names& names);

[[nodiscard]] std::string faults_text(const Faults& faults, const TextOptions& options, bool color,
                                      analyse::Names& names);

/// The same as parts of a longer report, whose end tells what is left out.
[[nodiscard]] std::string survivors_part(const Snapshot& snapshot, const TextOptions& options, bool color,
                                         analyse::Names& names, LeftOut& left_out);
[[nodiscard]] std::string faults_part(const Faults& faults, const TextOptions& options, bool color,
                                      analyse::Names& names, LeftOut& left_out);

} // namespace heapmark::report
