// SPDX-License-Identifier: BSL-1.0
// Patterns with "*", which stands for any text, and "?", which stands for any character.
#pragma once

#include <string_view>

namespace heapmark::suppress {

/// Whether the pattern stands for the whole text. Cost: at most the product of their lengths.
[[nodiscard]] constexpr bool matches(std::string_view pattern, std::string_view text) noexcept
{
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t star = std::string_view::npos; // the last one seen, and the text that it was tried with
    std::size_t star_text = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            star_text = t;
        } else if (p < pattern.size() && (pattern[p] == text[t] || pattern[p] == '?')) {
            ++p;
            ++t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++star_text;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

} // namespace heapmark::suppress
