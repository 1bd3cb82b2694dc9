// SPDX-License-Identifier: BSL-1.0
// A call stack with the names of its calls, and which of them a reader of a test's failure wants to see.
#pragma once

#include <heapmark/report.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace heapmark::suppress {

struct NamedCall {
    Call call;
    std::string bare_name; ///< the function with its scope, without return type, arguments and template arguments
    std::string_view linkage_name; ///< "" for what is inlined
    std::string_view module;
    std::string line; ///< all that stack_lines shows of it, in other words

    [[nodiscard]] bool has_line() const noexcept;
    [[nodiscard]] bool is_of_system_library() const noexcept;
};

[[nodiscard]] bool is_system_library(std::string_view module) noexcept;

struct NamedStack {
    std::vector<const NamedCall*> calls; ///< innermost first; immortal
    std::size_t site = 0;                ///< index of the first call that is not plumbing; 0 when all are
    std::size_t end = 0; ///< one past the last call that is the test's: the framework and main come after it

    [[nodiscard]] const NamedCall* site_call() const { return calls.empty() ? nullptr : calls[site]; }

    /// Where a reader should look: the innermost line of the program's own source; else the innermost line known;
    /// nullptr when there is none.
    [[nodiscard]] const NamedCall* place() const;
};

/// The calls that a frame stands for, innermost first, never empty. Looked up once a distinct frame, which may read the
/// debug information of a whole source, and kept until the process ends. Threads: any; serialised.
[[nodiscard]] const std::vector<NamedCall>& names_of(Frame frame);

/// The same for all frames of a stack.
[[nodiscard]] const NamedStack& names_of(const Stack& stack);

/// `path`, without `root` where it begins with it.
[[nodiscard]] std::string_view below(std::string_view root, std::string_view path) noexcept;

/// Lines of the shown calls.
[[nodiscard]] std::string stack_lines(const NamedStack& stack, std::string_view source_root);

/// The line of a suppression file that fits the stack and little else; "" when no name is known.
[[nodiscard]] std::string suppression_for(const NamedStack& stack);

} // namespace heapmark::suppress
