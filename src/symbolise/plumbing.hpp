// SPDX-License-Identifier: BSL-1.0
// Which calls are the machinery of allocating and not the place that wanted memory. A pure function on names.
#pragma once

#include <string_view>

namespace heapmark::symbolise {

/// True for the malloc family, operator new, what lies in the C++ library's headers or library, sanitizers' and
/// heapmark's own functions. A program's function that happens to live in namespace std, such as a specialisation of
/// std::hash, is not. Any argument may be empty.
[[nodiscard]] bool is_plumbing(std::string_view function, std::string_view file, std::string_view module);

/// True for what runs before main or a thread's function: the bottom of nearly every stack.
[[nodiscard]] bool is_startup(std::string_view function, std::string_view module);

} // namespace heapmark::symbolise
