// SPDX-License-Identifier: BSL-1.0
#include "report/growth_text.hpp"

#include "analyse/group.hpp"
#include "report/words.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace heapmark::report {
namespace {

constexpr std::array<const char*, 8> bars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

const char* bar(std::uint64_t value, std::uint64_t most)
{
    return bars[value * (bars.size() - 1) / std::max<std::uint64_t>(most, 1)];
}

/// In as many columns as there are readings, 40 at most.
std::string chart(const std::vector<Counts>& readings)
{
    constexpr std::size_t columns = 40;
    const std::size_t width = std::min(columns, readings.size());
    std::uint64_t most = 0;
    for (const Counts& reading : readings) most = std::max(most, reading.blocks);
    std::string text;
    for (std::size_t column = 0; column < width; ++column)
        text += bar(readings[column * readings.size() / width].blocks, most);
    return text;
}

std::string three_digits(double number)
{
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3g", number);
    return text.data();
}

/// "1 s", "10 min"; rounded down.
std::string duration(std::uint64_t ns)
{
    struct Unit {
        std::uint64_t ns;
        const char* name;
    };
    constexpr std::array<Unit, 6> units{{{86'400'000'000'000, " d"},
                                         {3'600'000'000'000, " h"},
                                         {60'000'000'000, " min"},
                                         {1'000'000'000, " s"},
                                         {1'000'000, " ms"},
                                         {1'000, " us"}}};
    for (const Unit& unit : units)
        if (ns >= unit.ns) return std::to_string(ns / unit.ns) + unit.name;
    return "0 us";
}

/// "▂█  3 younger than 1 s, 12 younger than 10 s; the oldest since generation 2, 8 s".
std::string ages(const Growth& growth, analyse::Names& names)
{
    std::uint64_t most = 0;
    for (const AgeClass& each : growth.ages) most = std::max(most, each.counts.blocks);
    std::string histogram;
    std::string list;
    for (const AgeClass& each : growth.ages) {
        histogram += bar(each.counts.blocks, most);
        list += (list.empty() ? "" : ", ") + grouped_digits(each.counts.blocks) +
                (each.below_ns == AgeClass::no_end ? " older" : " younger than " + duration(each.below_ns));
    }
    return histogram + "  " + list + "; the oldest of " + analyse::generation_label(growth.oldest.generation, names) +
           ", " + duration(growth.oldest.age.nanoseconds);
}

std::string test(const Growth& growth)
{
    return growth.never_falls ? "it never falls" : "it falls at times, the least of each quarter of the readings rises";
}

} // namespace

std::string growth_text(const Growth& growth, analyse::Names& names)
{
    const std::vector<Counts>& readings = growth.readings;
    std::string text(growth.site);
    text += " keeps growing: " + count_of(growth.blocks.size(), "block") + ", " + bytes_in_words(growth.blocks.bytes());
    text += "\n  blocks  " + chart(readings) + "  " + grouped_digits(readings.front().blocks) + " to " +
            grouped_digits(readings.back().blocks) + " in " + count_of(readings.size(), "reading");
    text += "\n  slope   " + three_digits(growth.blocks_per_reading) + " blocks and " +
            three_digits(growth.bytes_per_reading) + " bytes a reading; " + test(growth);
    if (!growth.ages.empty()) text += "\n  ages    " + ages(growth, names);
    return text + "\n";
}

} // namespace heapmark::report
