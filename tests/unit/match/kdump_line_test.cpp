// SPDX-License-Identifier: BSL-1.0
// Lines of kdump with all columns and without, and lines that are not whole.
#include "match/kdump_line.hpp"
#include "match/line_reader.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <unistd.h>
#include <vector>

using heapmark::match::KdumpLine;
using heapmark::match::LineReader;
using heapmark::match::read_kdump_line;
using What = KdumpLine::What;

TEST_CASE("the columns before a record")
{
    for (const std::string columns :
         {"12146 a.out    1224066908.225938 USER  ", "12146 a.out    0.000012 USER ", "12146 a.out    USER  ",
          " 12146 100123 a.out    USER  ", " 12146 100123 a.out   1224066908.225938 USER  ", "12146\ta.out\tUSER\t"}) {
        const std::string text = columns + "0x8103300 = malloc(600)";
        CAPTURE(text);
        const KdumpLine line = read_kdump_line(text);
        CHECK(line.what == What::allocate);
        CHECK(line.process == 12146);
        CHECK(line.program == "a.out");
        CHECK(line.address == 0x8103300);
        CHECK(line.bytes == 600);
    }
    CHECK(read_kdump_line("  77 Web Content USER  free(0x10)").program == "Web Content");
    CHECK(read_kdump_line("  77 Web Content 12.000001 USER  free(0x10)").program == "Web Content");
    CHECK(read_kdump_line("  77 USER     USER  free(0x10)").what == What::release);
    CHECK(read_kdump_line("  77 MAKE     USER  free(0x10)").program == "MAKE");
    const KdumpLine alone = read_kdump_line("0x8104000 = realloc(0x8103300, 1200)\r");
    CHECK(alone.what == What::reallocate);
    CHECK(alone.process == 0);
    CHECK(alone.old == 0x8103300);
    CHECK(alone.bytes == 1200);
}

TEST_CASE("records")
{
    const auto what = [](const std::string& record) { return read_kdump_line(" 1 a USER  " + record).what; };
    CHECK(what("malloc_init()") == What::begin);
    CHECK(what("free(0xffffffffffffffff)") == What::release);
    CHECK(what("0x10 = realloc(0x0, 5)") == What::allocate);
    CHECK(what("0x0 = realloc(0x10, 18446744073709551615)") == What::reallocate);
    for (const char* text :
         {"0x800261000 = dlopen(/usr/lib/plugin.so) ref 1", "dlopen(/usr/lib/plugin.so, RTLD_LAZY)",
          "RTLD: loaded   0x800260008 @ 0x800280000 - 0x80029ffff (/lib/libm.so.5)", "24 0x1 0x2 0x3", ""})
        CHECK_MESSAGE(what(text) == What::other, text);
    for (const char* text : {"0x10 = malloc(5",
                             "0x10 = malloc(",
                             "0x10 = malloc",
                             "0x10 = ",
                             "0x10",
                             "0x = malloc(5)",
                             "0x10 = malloc(-5)",
                             "0x10 = malloc(5)6",
                             "0x10 = malloc(18446744073709551616)",
                             "0x10 = malloc(0x5)",
                             "0xg = malloc(5)",
                             "0x11111111111111111 = malloc(1)",
                             "0x10 = realloc(5)",
                             "0x10 = realloc(0x10)",
                             "0x10 = realloc(0x10, )",
                             "free(",
                             "free(0x",
                             "free(0x10",
                             "free(16)",
                             "free(0x10) 0x20",
                             "0x10 malloc(5)"})
        CHECK_MESSAGE(what(text) == What::malformed, text);
}

TEST_CASE("what processes do")
{
    const KdumpLine parent = read_kdump_line("  4100 parent   RET   fork 4101/0x1005");
    CHECK(parent.what == What::fork_return);
    CHECK(parent.child == 4101);
    const KdumpLine child = read_kdump_line("  4101 parent   RET   fork 0");
    CHECK(child.what == What::fork_return);
    CHECK(child.child == 0);
    CHECK(read_kdump_line(" 1 a RET   fork -1 errno 35 Resource temporarily unavailable").what == What::fork_failed);
    CHECK(read_kdump_line(" 1 a CALL  vfork").what == What::fork_call);
    CHECK(read_kdump_line(" 1 a RET   execve JUSTRETURN").what == What::exec);
    CHECK(read_kdump_line(" 1 a RET   execve -1 errno 2 No such file or directory").what == What::other);
    CHECK(read_kdump_line(" 1 a CALL  exit(0)").what == What::exit);
    CHECK(read_kdump_line(" 1 a NAMI  \"/tmp/a USER free(0x10)\"").what == What::other);
    CHECK(read_kdump_line(" 1 a CALL  write(0x1,0x2,0x3)").what == What::other);
    for (const char* text : {"", "   ", "hello", "12", "12 ", "12 a", "12 a b c", "       \"GIO data USER free(0x1)\""})
        CHECK_MESSAGE(read_kdump_line(text).what == What::foreign, text);
}

TEST_CASE("any bytes are read without harm, and what is cut is never taken for another record")
{
    std::mt19937 random(11);
    const std::string whole = " 12 a.out 1.5 USER  0x8104000 = realloc(0x8103300, 1200)";
    for (std::size_t size = 0; size < whole.size(); ++size)
        CHECK(read_kdump_line(whole.substr(0, size)).what <= What::malformed);
    for (int round = 0; round < 30'000; ++round) {
        std::string text = whole;
        for (auto changes = random() % 5 + 1; changes > 0; --changes)
            text[random() % text.size()] = static_cast<char>(random());
        const KdumpLine line = read_kdump_line(text);
        if (!line.program.empty()) {
            CHECK(line.program.data() >= text.data());
            CHECK(line.program.data() + line.program.size() <= text.data() + text.size());
        }
    }
}

TEST_CASE("lines come whole, however they arrive")
{
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const std::string longest(LineReader::longest_line + 1000, 'x');
    const std::string text = "one\n\nthree\n" + longest + "\nfive";
    if (fork() == 0) {
        for (std::size_t at = 0; at < text.size(); at += 777)
            if (write(ends[1], text.data() + at, std::min<std::size_t>(777, text.size() - at)) < 0) _exit(1);
        _exit(0);
    }
    close(ends[1]);
    LineReader reader(ends[0]);
    CHECK(reader.ahead().front() == 'o');
    std::vector<std::string> lines;
    for (;;) {
        const std::span<const std::string_view> more = reader.next();
        if (more.empty()) break;
        lines.insert(lines.end(), more.begin(), more.end());
    }
    CHECK(lines == std::vector<std::string>{"one", "", "three", longest.substr(0, LineReader::longest_line), "five"});
    CHECK(reader.error() == 0);
    close(ends[0]);
}
