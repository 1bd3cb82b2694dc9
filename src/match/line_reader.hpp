// SPDX-License-Identifier: BSL-1.0
// Lines of a file or a pipe, in a buffer of fixed size.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace heapmark::match {

class LineReader {
public:
    static constexpr std::size_t longest_line = std::size_t{1} << 18;
    static constexpr std::size_t most_lines = 32; ///< at once

    /// The descriptor stays the caller's.
    explicit LineReader(int descriptor) : descriptor_(descriptor), buffer_(longest_line) {}

    /// The next lines, without their ends: at least one, and no more than there is room for. Valid until the next call.
    /// What a line has beyond `longest_line` is passed over. Empty at the end of the input, or after an error.
    std::span<const std::string_view> next();

    /// errno value of a read that failed; 0: none did.
    [[nodiscard]] int error() const noexcept { return error_; }
    /// What is there to be read, read already if need be; up to a buffer's worth.
    [[nodiscard]] std::string_view ahead();

private:
    bool fill();
    bool piece(std::string_view& text);

    int descriptor_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::array<std::string_view, most_lines> lines_;
    bool line_ended_ = true; ///< the last one was had to its end
    bool at_end_ = false;
    int error_ = 0;
};

} // namespace heapmark::match
