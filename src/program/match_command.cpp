// SPDX-License-Identifier: BSL-1.0
// heapmark match TRACE...
#include "api/color.hpp"
#include "match/leaks_text.hpp"
#include "platform/options.hpp"
#include "program/commands.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <unistd.h>

namespace heapmark::program {
namespace {

/// Warnings and the log go to standard error, so that standard output has the leaks alone.
class Terminal final : public match::Listener {
public:
    explicit Terminal(match::Verbosity verbosity) : Listener(verbosity) {}

    void warn(match::Place place, std::string_view text) override { say(place, "warning: ", text); }
    void log(match::Place place, std::string_view text) override { say(place, "", text); }

    const match::Match* traces = nullptr;

private:
    void say(match::Place place, const char* what, std::string_view text) const
    {
        const std::string& source = traces->source(place);
        std::fprintf(stderr, "%s:%llu: %s%.*s\n", source.c_str(), static_cast<unsigned long long>(place.line()), what,
                     static_cast<int>(text.size()), text.data());
    }
};

} // namespace

int match_traces(const MatchArguments& arguments)
{
    const std::vector<std::string> standard_input{"-"};
    const std::vector<std::string>& traces = arguments.traces.empty() ? standard_input : arguments.traces;
    platform::load_options(); // how stacks are shown
    Terminal terminal(static_cast<match::Verbosity>(std::min(arguments.verbosity, 4)));
    match::Match match(terminal);
    terminal.traces = &match;
    bool all_read = true;
    for (const std::string& trace : traces) {
        try {
            match.read(trace);
        } catch (const match::Unusable& reason) {
            std::fprintf(stderr, "heapmark match: %s\n", reason.what());
            all_read = false;
        }
    }
    const match::Matched matched = match.finish();
    const bool clean = matched.leaked_blocks() == 0;
    const TextOptions options;
    const bool color = wants_color(options.color, STDOUT_FILENO);
    const std::string text =
        clean && arguments.verbosity > 0 ? totals_text(matched) : leaks_text(matched, options, color);
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (clean && matched.malformed_lines != 0)
        std::fprintf(stderr, "heapmark match: %llu malformed lines were skipped\n",
                     static_cast<unsigned long long>(matched.malformed_lines));
    if (!all_read || !written) return unusable;
    return clean ? all_well : found_something;
}

} // namespace heapmark::program
