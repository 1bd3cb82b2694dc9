// SPDX-License-Identifier: BSL-1.0
#include "match/match.hpp"

#include "match/trace_reader.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace heapmark::match {
namespace {

/// An open file, or standard input, which stays open.
class Input {
public:
    explicit Input(const std::string& path)
        : descriptor(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC))
    {
        if (descriptor < 0) throw Unusable(path + ": " + std::strerror(errno));
    }
    ~Input()
    {
        if (descriptor != STDIN_FILENO) ::close(descriptor);
    }
    Input(const Input&) = delete;
    Input& operator=(const Input&) = delete;

    const int descriptor;
};

} // namespace

std::uint64_t Matched::leaked_blocks() const noexcept
{
    std::uint64_t sum = 0;
    for (const Leaks& leaks : processes) sum += leaks.blocks.size();
    return sum;
}

std::uint64_t Matched::leaked_bytes() const noexcept
{
    std::uint64_t sum = 0;
    for (const Leaks& leaks : processes) sum += leaks.bytes;
    return sum;
}

void Match::read(const std::string& path)
{
    const Input input(path);
    const auto source = static_cast<std::uint32_t>(sources_.size());
    sources_.push_back(path == "-" ? "standard input" : path);
    if (listener_.wants(Verbosity::records)) listener_.log(Place::of(source, 0), "reading");
    LineReader lines(input.descriptor);
    if (is_trace(lines.ahead()))
        read_trace(input.descriptor, source);
    else
        read_kdump(lines, source);
}

void Match::read_trace(int descriptor, std::uint32_t source)
{
    std::unique_ptr<TraceStacks>& stacks = stacks_[source];
    stacks = std::make_unique<TraceStacks>();
    try {
        const std::uint64_t records = TraceReader(matcher_, listener_, *stacks).read(descriptor, source);
        if (listener_.wants(Verbosity::records))
            listener_.log(Place::of(source, records), "read: " + std::to_string(records) + " records");
    } catch (const std::runtime_error& reason) {
        throw Unusable(sources_[source] + ": " + reason.what());
    }
}

void Match::read_kdump(LineReader& lines, std::uint32_t source)
{
    const KdumpCounts counts = KdumpReader(matcher_, listener_).read(lines, source);
    malformed_lines_ += counts.malformed;
    if (lines.error() != 0) throw Unusable(sources_[source] + ": " + std::strerror(lines.error()));
    if (counts.records != 0) {
        if (listener_.wants(Verbosity::records))
            listener_.log(Place::of(source, counts.lines), "read: " + std::to_string(counts.records) + " records");
        return;
    }
    if (counts.of_kdump == 0)
        throw Unusable(
            sources_[source] +
            ": it is no heapmark trace, and no line is kdump's; heapmark run --trace FILE PROGRAM writes a trace");
    throw Unusable(sources_[source] + ": no record of malloc; heapmark run --trace FILE PROGRAM writes a trace; for "
                                      "kdump's, run the program with MALLOC_CONF=utrace:true (before FreeBSD 10: "
                                      "MALLOC_OPTIONS=U) under ktrace -t +u");
}

Matched Match::finish()
{
    if (listener_.wants(Verbosity::records) && !sources_.empty())
        listener_.log(Place::of(static_cast<std::uint32_t>(sources_.size() - 1), 0), "all traces are read");
    Matched matched{matcher_.finish(), sources_, malformed_lines_, {}};
    for (Leaks& leaks : matched.processes)
        for (Leak& leak : leaks.blocks) put_in_words(leak, leaks.texts);
    matched.stacks = std::move(stacks_);
    return matched;
}

/// What the matcher kept of a record of heapmark's is not for people.
void Match::put_in_words(Leak& leak, KeptTexts& texts) const
{
    const auto stacks = stacks_.find(leak.place.source());
    if (stacks != stacks_.end()) leak.text = texts.keep(trace_record_in_words(leak.text, *stacks->second, leak.site));
}

} // namespace heapmark::match
