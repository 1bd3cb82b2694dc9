// SPDX-License-Identifier: BSL-1.0
// Parts of a demangled function name, and whether a name given by a person means it. Pure functions on text.
#pragma once

#include <string>
#include <string_view>

namespace heapmark::analyse {

/// "void ns::f<int>(int) const [clone .cold]" is {"void", "ns::f<int>", "(int)", " const"}; the clone mark is dropped.
struct Signature {
    std::string_view returns;
    std::string_view name;
    std::string_view parameters; ///< with its parentheses; empty for a name of C or without arguments
    std::string_view qualifiers; ///< " const", "&&" ...
};
[[nodiscard]] Signature split_signature(std::string_view function) noexcept;

/// Length of the group at the start of `text`, which begins with a bracket, its partner included; all of `text` when
/// there is none. Knows that "operator<", "operator>>", "->" and the like are not brackets.
[[nodiscard]] std::size_t group_length(std::string_view text) noexcept;

/// Length of an operator's name at the start of `text` ("operator<<", "operator()", "operator new[]", and of
/// "operator unsigned long" the word operator), or 0 when there is none.
[[nodiscard]] std::size_t operator_length(std::string_view text) noexcept;

/// The name without template arguments and ABI tags: "ns::Parser<int>::load" is "ns::Parser::load".
[[nodiscard]] std::string without_template_arguments(std::string_view name);

/// `wanted` may leave out scopes, template arguments and parameters. Blanks do not matter.
[[nodiscard]] bool means_function(std::string_view wanted, std::string_view function);

/// `wanted` is the path, or its end after a '/'.
[[nodiscard]] bool means_file(std::string_view wanted, std::string_view path) noexcept;

/// As means_file, or the file name up to ".so".
[[nodiscard]] bool means_module(std::string_view wanted, std::string_view path) noexcept;

} // namespace heapmark::analyse
