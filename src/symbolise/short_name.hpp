// SPDX-License-Identifier: BSL-1.0
// Function and type names as a person would write them. Pure functions on demangled text.
#pragma once

#include <string>
#include <string_view>

namespace heapmark::symbolise {

/// How much text is kept before it becomes "<...>" or "(...)".
struct NameLimits {
    std::size_t template_arguments = 40;
    std::size_t parameters = 60;
};

/// "void ns::f<int>(std::vector<int, std::allocator<int> >&)" is "ns::f<int>(std::vector<int>&)": no return type,
/// no default template arguments, no inline namespaces, no clone marks; lambdas as "f::{lambda#1}(int)".
[[nodiscard]] std::string short_function(std::string_view demangled, NameLimits limits = {});

/// What a program calls a function of the C library, whose debug information tells the internal name: "__GI___strdup"
/// is "strdup", "__libc_malloc" is "malloc". The same name in other modules.
[[nodiscard]] std::string_view public_c_name(std::string_view name, std::string_view module) noexcept;

/// The same as short_function for the name of a type.
[[nodiscard]] std::string short_type(std::string_view demangled, NameLimits limits = {});

} // namespace heapmark::symbolise
