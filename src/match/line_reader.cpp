// SPDX-License-Identifier: BSL-1.0
#include "match/line_reader.hpp"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace heapmark::match {

/// Moves what is left to the front and reads behind it. False when there is nothing more, or no room.
bool LineReader::fill()
{
    if (at_end_) return false;
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    while (end_ < buffer_.size()) {
        const ssize_t got = ::read(descriptor_, buffer_.data() + end_, buffer_.size() - end_);
        if (got > 0) {
            end_ += static_cast<std::size_t>(got);
            return true;
        }
        if (got < 0 && errno == EINTR) continue;
        error_ = got < 0 ? errno : 0;
        at_end_ = true;
        return false;
    }
    return false;
}

std::string_view LineReader::ahead()
{
    if (begin_ == end_) fill();
    return {buffer_.data() + begin_, end_ - begin_};
}

/// A view of what begins at begin_ and ends before a newline, or with the buffer. False when no newline is there.
bool LineReader::piece(std::string_view& text)
{
    const char* const begin = buffer_.data() + begin_;
    const std::size_t available = end_ - begin_;
    const auto* const newline = static_cast<const char*>(std::memchr(begin, '\n', available));
    text = {begin, newline == nullptr ? available : static_cast<std::size_t>(newline - begin)};
    if (newline == nullptr) return false;
    begin_ += text.size() + 1;
    return true;
}

std::span<const std::string_view> LineReader::next()
{
    for (;;) {
        std::size_t count = 0;
        if (!line_ended_) line_ended_ = piece(lines_[0]);
        while (line_ended_ && count < lines_.size() && piece(lines_[count])) ++count;
        if (count != 0) return {lines_.data(), count};
        // No line has its end in the buffer.
        if (!line_ended_) begin_ = end_;
        if (fill()) continue;
        if (begin_ == end_) return {};
        static_cast<void>(piece(lines_[0]));
        begin_ = end_;
        line_ended_ = false;
        return {lines_.data(), 1};
    }
}

} // namespace heapmark::match
