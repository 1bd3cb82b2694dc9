// SPDX-License-Identifier: BSL-1.0
// Numbers and ranges in words, and colour. Pure functions.
#pragma once

#include "analyse/names.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heapmark::report {

/// "1 byte", "800 bytes", "1.2 KiB", "3.0 GiB".
[[nodiscard]] std::string bytes_in_words(std::uint64_t bytes);

/// "1 block", "12,345 blocks": the noun's plural is made with s.
[[nodiscard]] std::string count_of(std::uint64_t count, std::string_view noun);

/// Exact digits with a comma at each thousand.
[[nodiscard]] std::string grouped_digits(std::uint64_t number);

/// In a column of that many characters; longer texts stay whole.
/// "std::_Rb_tree<...>::_M_empl...nt_unique<int&>(...)+0x24": with "..." for its middle where it is longer. The end is kept,
/// where most differ. No character of UTF-8 is cut through.
[[nodiscard]] std::string cut_in_middle(std::string text, std::size_t width);
[[nodiscard]] std::string left_aligned(std::string text, std::size_t width);
[[nodiscard]] std::string right_aligned(const std::string& text, std::size_t width);

/// "since generation 4 "load"", "in generation 4", "in generations 2 to 4", "since the process began".
[[nodiscard]] std::string range_in_words(Generation first, Generation last, analyse::Names& names);

/// What a group's blocks have in common, apart from their number: "new[]  generation 4 "load"  thread 1".
[[nodiscard]] std::string traits_in_words(const Snapshot& blocks, analyse::Names& names);

/// `path` relative to `root` when it lies below it, "a/./b" and "a/../b" made plain in either case.
[[nodiscard]] std::string shown_path(std::string_view path, std::string_view root);

enum class Ink : std::uint8_t { summary, group, site, faint, place, warning };

/// Wraps text in terminal escapes, or does not.
class Paint {
public:
    explicit Paint(bool color) noexcept : color_(color) {}
    [[nodiscard]] std::string operator()(Ink ink, std::string_view text) const;

private:
    bool color_;
};

} // namespace heapmark::report
