// SPDX-License-Identifier: BSL-1.0
// heapmark: programs under heapmark, and afterwards traces and results of tests.
#include "program/commands.hpp"

#include <CLI/CLI.hpp>

int main(int argument_count, char** arguments)
{
    using namespace heapmark::program;
    CLI::App app("Which memory a program leaves on its heap.", "heapmark");
    app.require_subcommand(1);
    Command chosen;
    add_diff(app, chosen);
    add_match(app, chosen);
    add_run(app, chosen);
    try {
        app.parse(argument_count, arguments);
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
