// SPDX-License-Identifier: BSL-1.0
// Whether the loader will put the preload library into a program. Where it will not, it says nothing, and nor would heapmark.
#pragma once

#include <filesystem>
#include <string>

namespace heapmark::program {

/// The file that execvp(3) would take for this word; empty when there is none.
[[nodiscard]] std::filesystem::path find_program(const std::string& word);

/// Why the preload library cannot get into the program, naming the file, which for a script is its interpreter's, and the
/// remedy; "" when nothing speaks against it. What cannot be read is left for exec to refuse.
[[nodiscard]] std::string why_not_preloadable(const std::filesystem::path& program);

} // namespace heapmark::program
