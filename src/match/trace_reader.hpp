// SPDX-License-Identifier: BSL-1.0
// A trace of heapmark's into a matcher, in the order of time. Threads write into chunks of their own: those that were
// filled at the same time are read side by side, each through a buffer.
#pragma once

#include "match/matcher.hpp"
#include "match/trace_stacks.hpp"
#include "trace/format.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace heapmark::match {

/// Whether a file that begins like this is a trace of heapmark's.
[[nodiscard]] bool is_trace(std::string_view beginning) noexcept;

class TraceReader {
public:
    TraceReader(Matcher& matcher, Listener& listener, TraceStacks& stacks) noexcept
        : matcher_(matcher), listener_(listener), stacks_(stacks)
    {}

    /// Returns how many records there were. Throws std::runtime_error with the reason when the file cannot be read.
    std::uint64_t read(int descriptor, std::uint32_t source);

private:
    struct ChunkPlace {
        std::uint64_t begun_ns;
        std::uint64_t offset;
    };
    struct Stream {
        std::vector<Words> records;
        std::size_t next = 0;
        std::uint64_t time_ns = 0;
        std::uint32_t thread = 0;
    };

    void read_header(int descriptor, std::uint32_t source);
    void find_chunks(int descriptor);
    bool open_stream(int descriptor, const ChunkPlace& place, Stream& stream);
    bool to_next_event(Stream& stream);
    void event(const Stream& stream);

    Matcher& matcher_;
    Listener& listener_;
    TraceStacks& stacks_;
    std::vector<ChunkPlace> chunks_;
    Process* process_ = nullptr;
    std::uint32_t source_ = 0;
    std::uint64_t events_ = 0;
    std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> resizing_; ///< addresses, by thread
};

/// The text of a record that TraceReader gave to the matcher, for people; `site` becomes that of its stack.
[[nodiscard]] std::string trace_record_in_words(std::string_view text, const TraceStacks& stacks, std::uint32_t& site);

} // namespace heapmark::match
