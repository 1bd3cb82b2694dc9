// SPDX-License-Identifier: BSL-1.0
// Traces, written and read.
#include "match/leaks_text.hpp"
#include "platform/thread_state.hpp"
#include "trace/writer.hpp"

#include <heapmark/trace.hpp>

#include <cerrno>
#include <ostream>

namespace heapmark {
namespace {

constexpr std::size_t most_warnings = 10'000;

class Warnings final : public match::Listener {
public:
    explicit Warnings(std::vector<TraceWarning>& warnings) : Listener(match::Verbosity::warnings), warnings_(warnings)
    {}

    void warn(match::Place place, std::string_view text) override
    {
        if (warnings_.size() < most_warnings)
            warnings_.push_back({traces->source(place), place.line(), std::string(text)});
    }
    void log(match::Place, std::string_view) override {}

    const match::Match* traces = nullptr;

private:
    std::vector<TraceWarning>& warnings_;
};

void count(TraceMatch& result, const match::Totals& totals)
{
    result.double_frees += totals.double_frees;
    result.unknown_frees += totals.unknown_frees;
    result.allocated_twice += totals.allocated_twice;
}

} // namespace

int trace_start(const char* path)
{
    if (!active()) return ENOTSUP;
    return trace::start(path);
}

void trace_stop() noexcept { trace::stop(); }

TraceStatus trace_status() noexcept { return {trace::is_written(), trace::dropped_count()}; }

TraceMatch match_traces(const std::vector<std::string>& paths)
{
    const platform::Guard guard;
    TraceMatch result;
    Warnings warnings(result.warnings);
    match::Match traces(warnings);
    warnings.traces = &traces;
    for (const std::string& path : paths) traces.read(path);
    const match::Matched matched = traces.finish();
    result.text = match::leaks_text(matched, TextOptions(), false);
    result.malformed_lines = matched.malformed_lines;
    for (const match::Leaks& leaks : matched.processes) {
        count(result, leaks.totals);
        result.leaked_bytes += leaks.bytes;
        for (const match::Leak& leak : leaks.blocks)
            result.leaks.push_back({leaks.process, leaks.program, leak.address, leak.bytes,
                                    matched.sources[leak.place.source()], leak.place.line(), std::string(leak.text)});
    }
    return result;
}

std::ostream& operator<<(std::ostream& out, const TraceMatch& match) { return out << match.text; }

} // namespace heapmark
