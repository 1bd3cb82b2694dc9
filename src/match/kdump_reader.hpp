// SPDX-License-Identifier: BSL-1.0
// kdump's text, line by line, into a matcher.
#pragma once

#include "match/kdump_line.hpp"
#include "match/line_reader.hpp"
#include "match/matcher.hpp"

namespace heapmark::match {

/// What was in one text.
struct KdumpCounts {
    std::uint64_t lines = 0;
    std::uint64_t records = 0;
    std::uint64_t malformed = 0;
    std::uint64_t of_kdump = 0; ///< lines of any kind that kdump writes
};

class KdumpReader {
public:
    KdumpReader(Matcher& matcher, Listener& listener) noexcept : matcher_(matcher), listener_(listener) {}

    KdumpCounts read(LineReader& lines, std::uint32_t source);

private:
    void read_line(const KdumpLine& line, std::string_view text, Place place, KdumpCounts& counts);
    void record(const KdumpLine& line, const Matcher::Record& record);
    void process_record(const KdumpLine& line, Place place);
    void begin(Process& process, const KdumpLine& line, Place place);
    void adopt(std::uint32_t child, std::string_view program, Place place);

    Matcher& matcher_;
    Listener& listener_;
    std::vector<std::uint32_t> forking_; ///< processes inside a fork that has not returned yet
};

} // namespace heapmark::match
