// SPDX-License-Identifier: BSL-1.0
#include "match/match.hpp"

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
    read_kdump(input.descriptor, source);
}

void Match::read_kdump(int descriptor, std::uint32_t source)
{
    LineReader lines(descriptor);
    const KdumpCounts counts = KdumpReader(matcher_, listener_).read(lines, source);
    malformed_lines_ += counts.malformed;
    if (lines.error() != 0) throw Unusable(sources_[source] + ": " + std::strerror(lines.error()));
    if (counts.records != 0) {
        if (listener_.wants(Verbosity::records))
            listener_.log(Place::of(source, counts.lines), "read: " + std::to_string(counts.records) + " records");
        return;
    }
    if (counts.of_kdump == 0) throw Unusable(sources_[source] + ": no line is kdump's, and it is no heapmark trace");
    throw Unusable(sources_[source] + ": no record of malloc; run the program with MALLOC_CONF=utrace:true (before "
                                      "FreeBSD 10: MALLOC_OPTIONS=U) under ktrace -t +u");
}

Matched Match::finish()
{
    if (listener_.wants(Verbosity::records) && !sources_.empty())
        listener_.log(Place::of(static_cast<std::uint32_t>(sources_.size() - 1), 0), "all traces are read");
    return {matcher_.finish(), sources_, malformed_lines_};
}

} // namespace heapmark::match
