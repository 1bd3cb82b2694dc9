// SPDX-License-Identifier: BSL-1.0
// Whether the C library keeps a block for itself.
#pragma once

#include "analyse/names.hpp"

namespace heapmark::analyse {

/// Whether the block of such a stack was asked for inside the C library (its loader, resolver and converters included),
/// by a function that hands no memory to its caller: then it is the library's table or cache.
/// Most of its functions have no name without debug information, but the one that the program called is exported.
/// What hands out memory and fills caches too (getaddrinfo, newlocale) counts as the library's from the second
/// function on, since nothing tells the two apart.
[[nodiscard]] bool is_kept_by_c_library(const Stack& stack, Names& names);

} // namespace heapmark::analyse
