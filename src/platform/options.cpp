// SPDX-License-Identifier: BSL-1.0
// HEAPMARK_OPTIONS: parsing and help, driven by options.inc.
#include "platform/options.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace heapmark::platform {
namespace {

enum class Type { Flag, Number, Choice, Text };

struct Key {
    Type type;
    std::string_view name;
    std::string_view fallback;
    std::string_view accepted;
    std::string_view help;
    std::uint64_t Options::*number;
    std::string_view Options::*text;
};

consteval Key make_key(Type type, std::string_view name, std::string_view fallback, std::string_view accepted,
                       std::string_view help, std::uint64_t Options::*number)
{
    return {type, name, fallback, accepted, help, number, nullptr};
}

consteval Key make_key(Type type, std::string_view name, std::string_view fallback, std::string_view accepted,
                       std::string_view help, std::string_view Options::*text)
{
    return {type, name, fallback, accepted, help, nullptr, text};
}

constexpr Key keys[] = {
#define HEAPMARK_OPTION(type, key, fallback, accepted, help)                                                           \
    make_key(Type::type, #key, #fallback, accepted, help, &Options::key),
#include "platform/options.inc"
#undef HEAPMARK_OPTION
};

constinit bool loaded = false;
/// Values are views of this copy: the program may change its environment.
constinit char process_text[4096];

bool parse_number(std::string_view text, std::uint64_t& number) noexcept
{
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    return result.ec == std::errc{} && result.ptr == text.data() + text.size();
}

/// Index of `value` among the words of "a|b|c".
bool parse_choice(std::string_view value, std::string_view accepted, std::uint64_t& index) noexcept
{
    for (index = 0;; ++index) {
        const std::size_t bar = accepted.find('|');
        if (value == accepted.substr(0, bar)) return true;
        if (bar == std::string_view::npos) return false;
        accepted.remove_prefix(bar + 1);
    }
}

bool parse_value(const Key& key, std::string_view value, Options& options) noexcept
{
    std::uint64_t number = 0;
    switch (key.type) {
    case Type::Text: options.*key.text = value; return true;
    case Type::Flag:
    case Type::Choice:
        if (!parse_choice(value, key.accepted, number)) return false;
        break;
    case Type::Number: {
        const std::size_t dots = key.accepted.find("..");
        std::uint64_t low = 0;
        std::uint64_t high = 0;
        parse_number(key.accepted.substr(0, dots), low);
        parse_number(key.accepted.substr(dots + 2), high);
        if (!parse_number(value, number) || number < low || number > high) return false;
        break;
    }
    }
    options.*key.number = number;
    return true;
}

const Key* find_key(std::string_view name) noexcept
{
    for (const Key& key : keys)
        if (key.name == name) return &key;
    return nullptr;
}

/// How a key is written in help and in messages: the first word for a choice, no quotes around a text.
std::string_view shown_default(const Key& key) noexcept
{
    if (key.type == Type::Choice) return key.accepted.substr(0, key.accepted.find('|'));
    if (key.type == Type::Text) return "none";
    return key.fallback;
}

void print_help() noexcept
{
    write_all(STDERR_FILENO, "HEAPMARK_OPTIONS=\"key=value:key=value\"\n");
    for (const Key& key : keys) {
        Line line;
        line << "  " << key.name << "=" << key.accepted << "\n        " << key.help
             << " (default: " << shown_default(key) << ")\n";
        write_all(STDERR_FILENO, line.text());
    }
    write_all(STDERR_FILENO, "  help=1\n        print this list\n");
}

} // namespace

bool parse_options(std::string_view text, Options& options, bool& help, Line& error) noexcept
{
    help = false;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(':'), text.size());
        const std::string_view item = text.substr(0, end);
        text.remove_prefix(end == text.size() ? end : end + 1);
        if (item.empty()) continue;

        const std::size_t equals = item.find('=');
        const std::string_view name = item.substr(0, equals);
        if (equals == std::string_view::npos) {
            error << "HEAPMARK_OPTIONS: \"" << item << "\" has no value; write " << item
                  << "=VALUE, or help=1 for all keys";
            return false;
        }
        const std::string_view value = item.substr(equals + 1);
        if (name == "help") {
            help = value != "0";
            continue;
        }
        const Key* key = find_key(name);
        if (key == nullptr) {
            error << "HEAPMARK_OPTIONS: unknown key \"" << name << "\"; help=1 prints all keys";
            return false;
        }
        if (!parse_value(*key, value, options)) {
            error << "HEAPMARK_OPTIONS: " << name << "=" << value << " is not valid; " << name << " takes "
                  << key->accepted;
            return false;
        }
    }
    return true;
}

constinit Options process_options;
constinit bool tests_are_judged = false;

void load_options() noexcept
{
    if (loaded) return;
    loaded = true;
    const char* text = std::getenv("HEAPMARK_OPTIONS");
    if (text == nullptr) return;

    Line error;
    bool help = false;
    const std::size_t size = std::strlen(text);
    if (size < sizeof process_text) {
        std::memcpy(process_text, text, size + 1);
        if (parse_options({process_text, size}, process_options, help, error)) {
            if (help) print_help();
            return;
        }
    } else
        error << "HEAPMARK_OPTIONS is longer than " << std::uint64_t{sizeof process_text - 1} << " bytes; shorten it";

    Line line;
    line << "heapmark: " << error.text() << "\n";
    write_all(STDERR_FILENO, line.text());
    _exit(2);
}

} // namespace heapmark::platform
