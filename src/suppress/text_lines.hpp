// SPDX-License-Identifier: BSL-1.0
// A text, line by line.
#pragma once

#include <string_view>

namespace heapmark::suppress {

/// Without blanks at both ends.
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) noexcept
{
    const std::size_t first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

class TextLines {
public:
    explicit TextLines(std::string_view text) noexcept : rest_(text) {}

    /// Goes on to the next line, the first one at first. False at the end.
    bool next() noexcept
    {
        if (rest_.empty()) return false;
        const std::size_t end = rest_.find('\n');
        line_ = trimmed(rest_.substr(0, end));
        rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
        ++number_;
        return true;
    }

    [[nodiscard]] std::string_view line() const noexcept { return line_; } ///< trimmed
    [[nodiscard]] unsigned number() const noexcept { return number_; }     ///< from 1

private:
    std::string_view rest_;
    std::string_view line_;
    unsigned number_ = 0;
};

} // namespace heapmark::suppress
