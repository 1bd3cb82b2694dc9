// SPDX-License-Identifier: BSL-1.0
// Front of the room: traces in, leaks out. One matching reads any number of traces, one after the other.
#pragma once

#include "match/kdump_reader.hpp"
#include "match/matcher.hpp"
#include "match/trace_stacks.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace heapmark::match {

/// A trace that cannot be read, or is none. what(): the path and the reason.
class Unusable : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct Matched {
    std::vector<Leaks> processes;     ///< all of them, those without leaks too
    std::vector<std::string> sources; ///< names of the traces, by Place::source()
    std::uint64_t malformed_lines = 0;
    std::unordered_map<std::uint32_t, std::unique_ptr<TraceStacks>> stacks; ///< of the sources that have stacks

    [[nodiscard]] std::uint64_t leaked_blocks() const noexcept;
    [[nodiscard]] std::uint64_t leaked_bytes() const noexcept;
};

class Match {
public:
    explicit Match(Listener& listener) noexcept : listener_(listener), matcher_(listener) {}

    /// Reads a trace; "-": standard input. Throws Unusable; what was read until then counts.
    void read(const std::string& path);
    [[nodiscard]] Matched finish();

    /// Of the traces begun so far.
    [[nodiscard]] const std::string& source(Place place) const { return sources_[place.source()]; }

private:
    void read_kdump(LineReader& lines, std::uint32_t source);
    void read_trace(int descriptor, std::uint32_t source);
    void put_in_words(Leak& leak, KeptTexts& texts) const;

    Listener& listener_;
    Matcher matcher_;
    std::vector<std::string> sources_;
    std::uint64_t malformed_lines_ = 0;
    std::unordered_map<std::uint32_t, std::unique_ptr<TraceStacks>> stacks_;
};

} // namespace heapmark::match
