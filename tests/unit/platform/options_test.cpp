// SPDX-License-Identifier: BSL-1.0
// HEAPMARK_OPTIONS: every key with good and bad values, messages that name the key, and random texts.
#include "platform/options.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

using namespace heapmark::platform;

namespace {

struct Parsed {
    bool good;
    bool help;
    Options options;
    std::string error;
};

Parsed parse(std::string_view text)
{
    Parsed parsed{};
    Line error;
    parsed.good = parse_options(text, parsed.options, parsed.help, error);
    parsed.error = error.text();
    return parsed;
}

const char* const every_key[] = {
#define HEAPMARK_OPTION(type, key, fallback, accepted, help) #key,
#include "platform/options.inc"
#undef HEAPMARK_OPTION
};

} // namespace

TEST_CASE("nothing said: the defaults")
{
    for (const char* text : {"", ":", ":::"}) {
        const Parsed parsed = parse(text);
        CHECK(parsed.good);
        CHECK_FALSE(parsed.help);
        CHECK(parsed.options.depth == 32);
        CHECK(parsed.options.report_at_exit == 0);
        CHECK(parsed.options.abort_on_fault == 0);
        CHECK(parsed.options.output == "");
        CHECK(parsed.options.color == 0);
        CHECK(parsed.options.plumbing == 0);
        CHECK(parsed.options.max_groups == 50);
        CHECK(parsed.options.source_root == "");
    }
}

TEST_CASE("each key is read, together and in any order")
{
    const Parsed parsed = parse("source_root=/src/a b:depth=7:report_at_exit=1:abort_on_fault=1:output=/x/%p.txt:"
                                "color=always:plumbing=1:max_groups=1000000:");
    CHECK(parsed.good);
    CHECK(parsed.error.empty());
    CHECK(parsed.options.depth == 7);
    CHECK(parsed.options.report_at_exit == 1);
    CHECK(parsed.options.abort_on_fault == 1);
    CHECK(parsed.options.output == "/x/%p.txt");
    CHECK(parsed.options.color == static_cast<std::uint64_t>(ColorChoice::always));
    CHECK(parsed.options.plumbing == 1);
    CHECK(parsed.options.max_groups == 1'000'000);
    CHECK(parsed.options.source_root == "/src/a b");
    CHECK(parse("color=never").options.color == static_cast<std::uint64_t>(ColorChoice::never));
    CHECK(parse("color=auto").options.color == static_cast<std::uint64_t>(ColorChoice::automatic));
    CHECK(parse("depth=3:depth=4").options.depth == 4); // the last one counts
    CHECK(parse("source_root=a=b").options.source_root == "a=b");
    CHECK(parse("output=").good);
}

TEST_CASE("help is a flag beside the keys")
{
    CHECK(parse("help=1").help);
    CHECK(parse("depth=2:help=1").help);
    CHECK_FALSE(parse("help=0").help);
    CHECK(parse("depth=2:help=1").options.depth == 2);
}

TEST_CASE("a bad value is refused, and the message names the key")
{
    for (const char* text :
         {"depth=0", "depth=33", "depth=-1", "depth=", "depth=7x", "depth= 7", "depth=99999999999999999999",
          "report_at_exit=2", "report_at_exit=yes", "report_at_exit=", "abort_on_fault=10", "plumbing=01", "color=red",
          "color=", "color=alway", "color=auto|never", "max_groups=1000001", "max_groups=-1"}) {
        CAPTURE(text);
        const std::string key = std::string(text).substr(0, std::string(text).find('='));
        const Parsed parsed = parse(std::string("plumbing=1:") + text);
        CHECK_FALSE(parsed.good);
        CHECK(parsed.error.find(key) != std::string::npos);
        CHECK(parsed.error.find("takes") != std::string::npos); // and says what would be right
    }
}

TEST_CASE("an unknown key, or none, is refused by name")
{
    for (const char* text : {"dept=3", "Depth=3", "depth =3", " depth=3", "verbose=1", "=3"}) {
        CAPTURE(text);
        const Parsed parsed = parse(text);
        CHECK_FALSE(parsed.good);
        const std::string key = std::string(text).substr(0, std::string(text).find('='));
        CHECK(parsed.error.find("\"" + key + "\"") != std::string::npos);
        CHECK(parsed.error.find("help=1") != std::string::npos);
    }
    const Parsed parsed = parse("color=never:plumbing");
    CHECK_FALSE(parsed.good);
    CHECK(parsed.error.find("plumbing=VALUE") != std::string::npos);
}

TEST_CASE("a key that is longer than a message is no trouble")
{
    const Parsed parsed = parse(std::string(3000, 'k') + "=1");
    CHECK_FALSE(parsed.good);
    CHECK(parsed.error.size() > 100);
}

TEST_CASE("random texts are read or refused, with a message, and never leave a value out of range")
{
    std::mt19937 random(20'240'817);
    std::vector<std::string> pieces(std::begin(every_key), std::end(every_key));
    for (const char* piece : {"=", ":", "=", ":", "1", "0", "32", "auto", "never", "help", "-", "%p", "\xff", "x", ""})
        pieces.emplace_back(piece);
    int read = 0;
    int refused = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::string text;
        for (auto count = random() % 9; count > 0; --count) text += pieces[random() % pieces.size()];
        for (auto count = random() % 3; count > 0 && !text.empty(); --count)
            text[random() % text.size()] = static_cast<char>(random());
        const Parsed parsed = parse(text);
        ++(parsed.good ? read : refused);
        CHECK(parsed.error.empty() == parsed.good);
        CHECK((parsed.options.depth >= 1 && parsed.options.depth <= 32));
        CHECK(parsed.options.report_at_exit <= 1);
        CHECK(parsed.options.abort_on_fault <= 1);
        CHECK(parsed.options.plumbing <= 1);
        CHECK(parsed.options.color <= 2);
        CHECK(parsed.options.max_groups <= 1'000'000);
    }
    CHECK(read > 500);
    CHECK(refused > 500);
}
