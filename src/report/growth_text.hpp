// SPDX-License-Identifier: BSL-1.0
// What keeps growing, in words.
#pragma once

#include "analyse/names.hpp"

#include <heapmark/growth.hpp>

#include <string>

namespace heapmark::report {

/// A paragraph: how much, how fast, by which test, a chart of its blocks, how old they are.
[[nodiscard]] std::string growth_text(const Growth& growth, analyse::Names& names);

} // namespace heapmark::report
