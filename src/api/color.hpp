// SPDX-License-Identifier: BSL-1.0
// Whether a text report has colours.
#pragma once

#include <heapmark/report.hpp>

namespace heapmark {

/// Automatic: on a terminal, unless NO_COLOR (https://no-color.org) is set to more than nothing. A negative descriptor
/// is no terminal. Keeps errno.
bool wants_color(TextOptions::Color color, int descriptor);

} // namespace heapmark
