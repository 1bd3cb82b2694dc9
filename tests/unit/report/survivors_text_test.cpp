// SPDX-License-Identifier: BSL-1.0
// What a reader gets, byte by byte. The files are in tests/golden.
#include "../analyse/invented_names.hpp"
#include "golden.hpp"
#include "report/text.hpp"
#include "snapshot/snapshot_access.hpp"

using namespace heapmark;
using namespace heapmark::test;

namespace {

constexpr const char* libc = "/usr/lib/libc.so.6";

/// A program that parses: names for its frames.
struct Parser {
    InventedNames names;
    Stacks stacks;
    Frame allocate = names.plumbing("operator new(unsigned long)", "/usr/lib/libstdc++.so.6");
    Frame grow =
        names.calls({{"std::vector<int>::reserve", "std::vector<int>::reserve(unsigned long)",
                      "/usr/include/c++/12/bits/vector.tcc", 81, false, true},
                     {"Token::Token", "Token::Token(char const*)", "/src/app/lib/../token.cpp", 12, false, false},
                     {"Parser::next", "Parser::next()", "/src/app/parser.cpp", 77, false, false}},
                    "/src/app/program");
    Frame load = names.call("Parser::load(char const*)", "/src/app/parser.cpp", 41, "/src/app/program");
    Frame main = names.call("main", "/src/app/main.cpp", 7, "/src/app/program");
    Frame start_main = names.call("__libc_start_call_main", {}, 0, libc);
    Frame start = names.call("_start", {}, 0, "/src/app/program");
    Frame strdup = names.call("strdup", {}, 0, libc);
    Frame unnamed = names.call("", {}, 0, "/opt/plugins/libcodec.so.3");
    Frame thread_main = names.call("Pool::work()", "/src/app/pool.cpp", 20, "/src/app/program");
    Frame thread_state = names.plumbing("std::thread::_State_impl<...>::_M_run()", "/src/app/program");
    Frame thread_start = names.call("start_thread", {}, 0, libc);

    Parser()
    {
        names.generations[Generation{4}] = "load";
        names.generations[Generation{6}] = "save";
    }

    static Snapshot since(std::uint64_t first, std::vector<Block> blocks, std::uint64_t unrecorded = 0)
    {
        return SnapshotAccess::make(std::move(blocks), Generation{first}, SnapshotAccess::open_end, unrecorded);
    }

    std::string text(const Snapshot& snapshot, const TextOptions& options, bool color = false)
    {
        return report::survivors_text(snapshot, options, color, names);
    }

    Snapshot typical()
    {
        Block vector_a = block_at(0x1000, 400, stacks.of({allocate, grow, load, main, start_main, start}), 4);
        Block vector_b = block_at(0x2000, 400, vector_a.stack, 4);
        vector_a.api = vector_b.api = Api::operator_new_array;
        Block copy = block_at(0x3000, 412, stacks.of({strdup, load, main, start_main, start}), 4);
        copy.api = Api::malloc;
        return since(4, {vector_a, vector_b, copy});
    }
};

TextOptions plain_options()
{
    TextOptions options;
    options.color = TextOptions::Color::never;
    options.plumbing = false;
    options.max_groups = 50;
    options.source_root.clear();
    return options;
}

} // namespace

TEST_CASE("typical report")
{
    Parser parser;
    check_golden("typical.txt", parser.text(parser.typical(), plain_options()));
}

TEST_CASE("report with plumbing, source root and colour")
{
    Parser parser;
    TextOptions options = plain_options();
    options.plumbing = true;
    options.source_root = "/src/app/";
    check_golden("plumbing_root_colour.txt", parser.text(parser.typical(), options, true));
}

TEST_CASE("an empty snapshot is one line")
{
    Parser parser;
    const TextOptions options = plain_options();
    const auto empty = [](std::uint64_t first, Generation last) {
        return SnapshotAccess::make({}, Generation{first}, last, 0);
    };
    CHECK(parser.text(empty(4, SnapshotAccess::open_end), options) == "no survivors since generation 4 \"load\"\n");
    CHECK(parser.text(empty(5, SnapshotAccess::open_end), options) == "no survivors since generation 5\n");
    CHECK(parser.text(empty(0, SnapshotAccess::open_end), options) == "no survivors since the process began\n");
    CHECK(parser.text(empty(4, Generation{4}), options) == "no survivors in generation 4 \"load\"\n");
    CHECK(parser.text(empty(4, Generation{6}), options) == "no survivors in generations 4 \"load\" to 6 \"save\"\n");
}

TEST_CASE("an empty snapshot that may have missed blocks says so")
{
    Parser parser;
    check_golden("empty_unrecorded.txt", parser.text(Parser::since(4, {}, 1), plain_options()));
}

TEST_CASE("one stack in several generations, threads, tags and functions is one group")
{
    Parser parser;
    std::vector<Block> blocks;
    for (unsigned i = 0; i < 6; ++i) {
        Block block = block_at(0x1000 + 0x100 * i, 1000, parser.stacks.of({parser.load, parser.main}), 4 + i % 3);
        block.thread = ThreadId{i % 2};
        block.api = i % 2 == 0 ? Api::malloc : Api::calloc;
        block.tag = i < 2 ? "a" : i < 4 ? "b" : "";
        block.ignored = i == 0;
        blocks.push_back(block);
    }
    for (unsigned i = 0; i < 1300; ++i) {
        Block block = block_at(0x10000 + 0x100 * i, 4096, parser.stacks.of({parser.main}), i % 20);
        block.thread = ThreadId{i};
        block.tag = "";
        blocks.push_back(block);
    }
    check_golden("merged.txt", parser.text(Parser::since(0, blocks), plain_options()));
}

TEST_CASE("what is left out is counted, and the switch named")
{
    Parser parser;
    std::vector<Block> blocks;
    for (unsigned i = 0; i < 5; ++i)
        blocks.push_back(
            block_at(0x1000 + i * 0x100, 100 * (i + 1), parser.stacks.of({parser.names.call("f()"), parser.main})));
    TextOptions options = plain_options();
    options.max_groups = 2;
    check_golden("left_out.txt", parser.text(Parser::since(1, blocks, 12345), options));

    options.max_groups = 0;
    CHECK(parser.text(Parser::since(1, blocks), options).find("left out") == std::string::npos);
}

TEST_CASE("stacks that are hard to name")
{
    Parser parser;
    std::vector<Block> blocks{
        block_at(0x1000, 6, {}),                                                        // none
        block_at(0x2000, 5, parser.stacks.of({parser.unnamed, parser.names.call("")})), // no symbols; no module
        block_at(0x3000, 4, parser.stacks.of({parser.allocate, parser.allocate})),      // nothing but plumbing
        block_at(0x4000, 3, parser.stacks.of({parser.thread_main, parser.thread_state, parser.thread_start})),
        block_at(0x5000, 2, parser.stacks.of({parser.start_main})), // nothing but start-up
        block_at(0x6000, 1,
                 parser.stacks.of({parser.names.call(std::string_view("an_unusually_long_function_name_that_"
                                                                      "does_not_fit_into_any_column_at_all()"),
                                                     "/src/app/long.cpp", 1),
                                   parser.main}))};
    check_golden("hard_to_name.txt", parser.text(Parser::since(1, blocks), plain_options()));
}
