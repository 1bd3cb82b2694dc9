// SPDX-License-Identifier: BSL-1.0
// The subcommands of the program. Each adds itself to the command line; what it returns is the exit status.
#pragma once

#include <functional>
#include <span>

namespace CLI {
class App;
} // namespace CLI

namespace heapmark::program {

inline constexpr int all_well = 0;
inline constexpr int found_something = 1;
inline constexpr int unusable = 2; ///< arguments or input

using Command = std::function<int()>;

/// Sets `chosen` when the command line names this one.
void add_diff(CLI::App& app, Command& chosen);
void add_match(CLI::App& app, Command& chosen);

/// `words` are those of the whole command line. Returns how many of them come before PROGRAM: the rest is not for CLI11,
/// which would take some of them for heapmark's, and others, such as "[a,b]", apart.
std::size_t add_run(CLI::App& app, Command& chosen, std::span<char* const> words);

} // namespace heapmark::program
