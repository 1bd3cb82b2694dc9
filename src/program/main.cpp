// SPDX-License-Identifier: BSL-1.0
// heapmark: programs under heapmark, and afterwards traces and results of tests. Here is the command line; its library takes
// ten seconds to compile wherever it is included.
#include "program/commands.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace heapmark::program {
namespace {

using Command = std::function<int()>;

// Each sets `chosen` when the command line names its command.

void add_diff(CLI::App& app, Command& chosen)
{
    const auto arguments = std::make_shared<DiffArguments>();
    CLI::App* const command = app.add_subcommand("diff", "Print which tests allocate more than in an earlier run");
    constexpr auto what = "Results of tests: --gtest_output=xml:FILE, or HEAPMARK_OPTIONS=junit=FILE";
    command->add_option("OLD", arguments->before, what)->required();
    command->add_option("NEW", arguments->after, "The same of a later run")->required();
    command->footer("Exit status: 0 no test allocates more, 1 some do, 2 unusable input.");
    command->callback([arguments, &chosen] { chosen = [arguments] { return diff(*arguments); }; });
}

void add_match(CLI::App& app, Command& chosen)
{
    const auto arguments = std::make_shared<MatchArguments>();
    CLI::App* const command = app.add_subcommand("match", "Print what a trace shows allocated and never released");
    command->add_option("TRACE", arguments->traces,
                        "Traces of heapmark (HEAPMARK_OPTIONS=trace=FILE) and text of FreeBSD's kdump, in any order; "
                        "-, or none: standard input");
    command->add_flag("-v", arguments->verbosity,
                      "Log each allocation and release; -vv: records and phases too; -vvv: matched lines; -vvvv: every "
                      "line");
    command->footer("Exit status: 0 nothing leaked, 1 something did, 2 unusable input.");
    command->callback([arguments, &chosen] { chosen = [arguments] { return match_traces(*arguments); }; });
}

/// How many of the words after "run" come before the program: options, and values of options.
std::size_t count_own(const CLI::App& command, std::span<char* const> words)
{
    std::size_t count = 0;
    for (; count < words.size(); ++count) {
        const std::string_view word = words[count];
        if (word == "--" || word.size() < 2 || word.front() != '-') break;
        const CLI::Option* const option = command.get_option_no_throw(std::string(word)); // none for --trace=FILE
        if (option != nullptr && option->get_items_expected_max() > 0) ++count;
    }
    return std::min(count, words.size());
}

/// `words` are those of the whole command line. Returns how many of them come before PROGRAM: the rest is not for CLI11,
/// which would take some of them for heapmark's, and others, such as "[a,b]", apart.
std::size_t add_run(CLI::App& app, Command& chosen, std::span<char* const> words)
{
    const auto arguments = std::make_shared<RunArguments>();
    CLI::App* const command = app.add_subcommand("run", "Run a program under heapmark, which was not built with it");
    command->add_option("--trace", arguments->trace, "Write each allocation and release to this file")
        ->type_name("FILE");
    command
        ->add_option(
            "--options", arguments->options,
            "Added to HEAPMARK_OPTIONS, where report_at_exit=1 is set; may be given again; help=1 prints all keys")
        ->type_name("KEY=VALUE")
        ->type_size(1)
        ->expected(1)
        ->take_all()
        ->allow_extra_args(false);
    CLI::Option* const program =
        command->add_option("PROGRAM", "The program, and after it its arguments; -- may come before it");
    command->footer(
        "Exit status: the program's; 2 when heapmark has an error or cannot get into the program, 126 or 127 when the "
        "program cannot run.");
    command->callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
    if (words.size() < 2 || std::string_view(words[1]) != "run") return words.size();
    const std::size_t own = 2 + count_own(*command, words.subspan(2));
    arguments->program = words.subspan(own);
    if (!arguments->program.empty() && std::string_view(arguments->program[0]) == "--")
        arguments->program = arguments->program.subspan(1);
    program->required(arguments->program.empty());
    return own;
}

} // namespace
} // namespace heapmark::program

int main(int argument_count, char** arguments)
{
    using namespace heapmark::program;
    CLI::App app("Which memory a program leaves on its heap.", "heapmark");
    app.require_subcommand(1);
    app.set_version_flag("--version", "heapmark " HEAPMARK_VERSION);
    app.failure_message([](const CLI::App*, const CLI::Error& error) {
        return std::string("heapmark: ") + error.what() + "\nRun with --help for more information.\n";
    });
    Command chosen;
    const std::string_view first = argument_count > 1 ? arguments[1] : "";
    add_diff(app, chosen);
    add_match(app, chosen);
    const std::size_t own = add_run(app, chosen, {arguments, static_cast<std::size_t>(argument_count)});
    const auto is_first = [first](const CLI::App* command) { return command->get_name() == first; };
    if (!first.empty() && first.front() != '-' && app.get_subcommands(is_first).empty()) {
        std::cerr << "heapmark: there is no command \"" << first << "\"; there are diff, match and run\n";
        return unusable;
    }
    try {
        app.parse(static_cast<int>(own), arguments);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? all_well : unusable;
    }
    try {
        return chosen();
    } catch (const std::exception& error) {
        std::cerr << "heapmark: " << error.what() << "\n";
        return unusable;
    }
}
