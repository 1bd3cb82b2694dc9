// SPDX-License-Identifier: BSL-1.0
// heapmark match TRACE...
#include "api/color.hpp"
#include "match/leaks_text.hpp"
#include "platform/options.hpp"
#include "program/commands.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
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

int match_traces(const std::vector<std::string>& traces, int verbosity)
{
    platform::load_options(); // how stacks are shown
    Terminal terminal(static_cast<match::Verbosity>(std::min(verbosity, 4)));
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
    const std::string text = clean && verbosity > 0 ? totals_text(matched) : leaks_text(matched, options, color);
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (clean && matched.malformed_lines != 0)
        std::fprintf(stderr, "heapmark match: %llu malformed lines were skipped\n",
                     static_cast<unsigned long long>(matched.malformed_lines));
    if (!all_read || !written) return unusable;
    return clean ? all_well : found_something;
}

} // namespace

void add_match(CLI::App& app, Command& chosen)
{
    struct Arguments {
        std::vector<std::string> traces;
        int verbosity = 0;
    };
    const auto arguments = std::make_shared<Arguments>();
    CLI::App* const command = app.add_subcommand("match", "Print what a trace shows allocated and never released");
    command->add_option("TRACE", arguments->traces,
                        "Traces of heapmark (HEAPMARK_OPTIONS=trace=FILE) and text of FreeBSD's kdump, in any order; "
                        "-, or none: standard input");
    command->add_flag("-v", arguments->verbosity,
                      "Log each allocation and release; -vv: records and phases too; -vvv: matched lines; -vvvv: every "
                      "line");
    command->footer("Exit status: 0 nothing leaked, 1 something did, 2 unusable input.");
    command->callback([arguments, &chosen] {
        if (arguments->traces.empty()) arguments->traces.emplace_back("-");
        chosen = [arguments] { return match_traces(arguments->traces, arguments->verbosity); };
    });
}

} // namespace heapmark::program
