// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <heapmark/report.hpp>

#include <string>

namespace heapmark {

namespace report {
class LeftOut;
}

/// Lost groups and clusters in words, as a part of a report. The caller holds a Guard.
[[nodiscard]] std::string explanation_in_words(const Explanation& why, const TextOptions& options, bool color,
                                               report::LeftOut& left_out);

} // namespace heapmark
