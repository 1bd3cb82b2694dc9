// SPDX-License-Identifier: BSL-1.0
// The subcommands of the program, each as the function that the command line ends in. What it returns is the exit status.
// Errors: throws std::exception, whose text is for the user.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace heapmark::program {

inline constexpr int all_well = 0;
inline constexpr int found_something = 1;
inline constexpr int unusable = 2; ///< arguments or input

struct DiffArguments {
    std::string before;
    std::string after;
};
int diff(const DiffArguments& arguments);

struct MatchArguments {
    std::vector<std::string> traces; ///< "-" or none: standard input
    int verbosity = 0;
};
int match_traces(const MatchArguments& arguments);

struct RunArguments {
    std::string trace;
    std::vector<std::string> options;
    std::span<char* const> program; ///< with its arguments, as main gets them
};
int run(const RunArguments& arguments);

} // namespace heapmark::program
