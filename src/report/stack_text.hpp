// SPDX-License-Identifier: BSL-1.0
// A call stack as lines: number, function, place.
#pragma once

#include "report/words.hpp"

#include <heapmark/report.hpp>

namespace heapmark::report {

struct TextContext {
    const TextOptions& options;
    Paint paint;
    analyse::Names& names;
    bool frames_folded = false; ///< set when a stack was not shown in full
};

/// Appends one line a call, innermost first. Without `options.plumbing`, allocator and C++ library calls at the top and
/// what ran before main or the thread's function are left out, unless nothing else is there.
void append_stack(std::string& out, const Stack& stack, TextContext& context);

} // namespace heapmark::report
