// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <heapmark/report.hpp>

#include <string>

namespace heapmark {

/// Lost groups and clusters in words. The caller holds a Guard.
[[nodiscard]] std::string explanation_in_words(const Explanation& why, const TextOptions& options, bool color);

} // namespace heapmark
