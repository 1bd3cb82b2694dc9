// SPDX-License-Identifier: BSL-1.0
// heapmark: programs under heapmark, and afterwards traces and results of tests.
#include "program/commands.hpp"

#include <CLI/CLI.hpp>

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
