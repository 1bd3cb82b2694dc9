// SPDX-License-Identifier: BSL-1.0
#include "report/words.hpp"

#include "analyse/group.hpp"
#include "snapshot/snapshot_access.hpp"

#include <algorithm>
#include <array>

namespace heapmark::report {

namespace {

constexpr std::size_t most_listed = 3;

template <class T, class Get>
std::vector<T> distinct(const Snapshot& blocks, Get get)
{
    std::vector<T> values;
    for (const Block& block : blocks)
        if (const T value = get(block); values.empty() || values.back() != value) values.push_back(value);
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

/// "thread 1"; "threads 1, 2"; "12 threads" when there are too many to list.
template <class T, class Text>
std::string listed(std::string_view noun, const std::vector<T>& values, Text text)
{
    if (values.size() > most_listed) return count_of(values.size(), noun);
    std::string out(noun);
    if (values.size() > 1) out += 's';
    for (const T& value : values) out += (&value == &values.front() ? " " : ", ") + text(value);
    return out;
}

std::string number_and_name(Generation generation, analyse::Names& names)
{
    return analyse::generation_label(generation, names).substr(std::string_view("generation ").size());
}

std::string apis_in_words(const Snapshot& blocks)
{
    std::string out;
    for (const Api api : distinct<Api>(blocks, [](const Block& block) { return block.api; }))
        out += (out.empty() ? "" : ", ") + std::string(to_string(api));
    return out;
}

std::string generations_in_words(const Snapshot& blocks, analyse::Names& names)
{
    const auto all = distinct<Generation>(blocks, [](const Block& block) { return block.generation; });
    std::string out = listed("generation", all, [&](Generation g) { return number_and_name(g, names); });
    if (all.size() > most_listed)
        out += ", " + number_and_name(all.front(), names) + " to " + number_and_name(all.back(), names);
    return out;
}

} // namespace

std::string grouped_digits(std::uint64_t number)
{
    const std::string digits = std::to_string(number);
    std::string out;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i != 0 && (digits.size() - i) % 3 == 0) out += ',';
        out += digits[i];
    }
    return out;
}

std::string count_of(std::uint64_t count, std::string_view noun)
{
    return grouped_digits(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string cut_in_middle(std::string text, std::size_t width)
{
    constexpr std::string_view mark = "...";
    if (text.size() <= width || width <= mark.size()) return text;
    const auto is_inside = [&text](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80; };
    std::size_t begin = (width - mark.size() + 1) / 2;
    std::size_t end = text.size() - (width - mark.size()) / 2;
    while (begin > 0 && is_inside(begin)) --begin;
    while (end < text.size() && is_inside(end)) ++end;
    return text.replace(begin, end - begin, mark);
}

std::string left_aligned(std::string text, std::size_t width)
{
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text;
}

std::string right_aligned(const std::string& text, std::size_t width)
{
    return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
}

std::string bytes_in_words(std::uint64_t bytes)
{
    if (bytes < 1024) return count_of(bytes, "byte");
    constexpr std::array<std::string_view, 6> units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    std::size_t unit = 0;
    std::uint64_t whole = bytes;
    std::uint64_t rest = 0;
    // "1024.0 KiB" would be the outcome of rounding 1023.96 up; it has to become "1.0 MiB".
    const auto rounds_up_to_next = [&] { return whole == 1023 && (rest * 10 + 512) / 1024 == 10; };
    for (; whole >= 1024; ++unit) {
        rest = whole % 1024;
        whole /= 1024;
    }
    if (rounds_up_to_next() && unit < units.size()) {
        whole = 1;
        rest = 0;
        ++unit;
    }
    std::uint64_t tenths = (rest * 10 + 512) / 1024;
    whole += tenths / 10;
    tenths %= 10;
    return std::to_string(whole) + "." + std::to_string(tenths) + " " + std::string(units[unit - 1]);
}

std::string range_in_words(Generation first, Generation last, analyse::Names& names)
{
    if (last == SnapshotAccess::open_end)
        return "since " + (first == Generation{} ? "the process began" : analyse::generation_label(first, names));
    if (first == last) return "in " + analyse::generation_label(first, names);
    return "in generations " + number_and_name(first, names) + " to " + number_and_name(last, names);
}

std::string traits_in_words(const Snapshot& blocks, analyse::Names& names)
{
    std::string out = apis_in_words(blocks) + "  " + generations_in_words(blocks, names);

    const auto threads = distinct<ThreadId>(blocks, [](const Block& block) { return block.thread; });
    if (threads.size() > 1 || (threads.size() == 1 && threads[0] != ThreadId{}))
        out += "  " + listed("thread", threads, [](ThreadId thread) {
                   return thread == ThreadId{} ? "unknown" : std::to_string(static_cast<std::uint32_t>(thread));
               });

    auto tags = distinct<std::string_view>(blocks, [](const Block& block) { return block.tag; });
    std::erase(tags, std::string_view{});
    if (!tags.empty())
        out += "  " + listed("tag", tags, [](std::string_view tag) { return "\"" + std::string(tag) + "\""; });

    const auto ignored = static_cast<std::size_t>(
        std::count_if(blocks.begin(), blocks.end(), [](const Block& block) { return block.ignored; }));
    if (ignored != 0) out += ignored == blocks.size() ? "  ignored" : "  " + grouped_digits(ignored) + " ignored";
    return out;
}

std::string shown_path(std::string_view path, std::string_view root)
{
    std::vector<std::string_view> parts;
    for (std::size_t at = 0; at <= path.size();) {
        const std::size_t end = std::min(path.find('/', at), path.size());
        const std::string_view part = path.substr(at, end - at);
        if (part == ".." && !parts.empty() && parts.back() != ".." && !parts.back().empty())
            parts.pop_back();
        else if (part != "." && (!part.empty() || at == 0))
            parts.push_back(part);
        at = end + 1;
    }
    std::string plain;
    for (std::size_t i = 0; i < parts.size(); ++i) plain += (i == 0 ? "" : "/") + std::string(parts[i]);

    while (root.size() > 1 && root.ends_with('/')) root.remove_suffix(1);
    if (!root.empty() && plain.size() > root.size() + 1 && plain.starts_with(root) && plain[root.size()] == '/')
        return plain.substr(root.size() + 1);
    return plain;
}

std::string Paint::operator()(Ink ink, std::string_view text) const
{
    constexpr std::array<std::string_view, 6> codes{"1", "1;33", "1", "2", "36", "1;31"};
    if (!color_ || text.empty()) return std::string(text);
    return "\x1b[" + std::string(codes[static_cast<std::size_t>(ink)]) + "m" + std::string(text) + "\x1b[0m";
}

} // namespace heapmark::report
