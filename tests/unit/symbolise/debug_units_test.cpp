// SPDX-License-Identifier: BSL-1.0
#include "symbolise/debug_units.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <link.h>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace heapmark::symbolise;

namespace {

/// The sections of a file, each a copy of its own, so that a sanitizer sees what is read beyond their ends.
struct File {
    std::array<std::vector<unsigned char>, DebugSections::count> bytes;

    explicit File(const char* path)
    {
        constexpr std::array<std::string_view, DebugSections::count> names{
            ".debug_info", ".debug_line",        ".debug_abbrev",   ".debug_ranges",  ".debug_str",
            ".debug_addr", ".debug_str_offsets", ".debug_line_str", ".debug_rnglists"};
        std::ifstream in(path, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        REQUIRE(text.size() > sizeof(ElfW(Ehdr)));
        const auto* const header = reinterpret_cast<const ElfW(Ehdr)*>(text.data());
        const auto* const sections = reinterpret_cast<const ElfW(Shdr)*>(text.data() + header->e_shoff);
        for (int i = 0; i < header->e_shnum; ++i) {
            const std::string_view name = text.data() + sections[header->e_shstrndx].sh_offset + sections[i].sh_name;
            for (std::size_t known = 0; known < names.size(); ++known)
                if (name == names[known])
                    bytes[known].assign(text.data() + sections[i].sh_offset,
                                        text.data() + sections[i].sh_offset + sections[i].sh_size);
        }
    }

    [[nodiscard]] DebugSections sections() const
    {
        DebugSections all{};
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            all.data[i] = bytes[i].empty() ? nullptr : bytes[i].data();
            all.size[i] = bytes[i].size();
        }
        return all;
    }
};

bool read(const File& file)
{
    DebugList<DebugUnit> units;
    DebugList<UnitRange> ranges;
    const DebugSections sections = file.sections();
    const bool understood = read_debug_units(sections, units, ranges);
    for (const DebugUnit& unit : units) {
        REQUIRE(unit.begin + unit.size <= sections.size[DebugSections::info]);
        static_cast<void>(stands_alone(sections, unit));
    }
    return understood;
}

} // namespace

TEST_CASE("each source is a unit, which has its own ranges and stands alone")
{
    const File file(SHARED_INLINE);
    const DebugSections sections = file.sections();
    DebugList<DebugUnit> units;
    DebugList<UnitRange> ranges;
    REQUIRE(read_debug_units(sections, units, ranges));
    REQUIRE(units.size() == 2);
    for (const DebugUnit& unit : units) {
        CHECK(stands_alone(sections, unit));
        CHECK(std::any_of(ranges.begin(), ranges.end(), [&](const UnitRange& range) { return range.unit == &unit; }));
    }
}

#ifdef LTO
TEST_CASE("units of link time optimisation refer to others")
{
    const File file(LTO);
    const DebugSections sections = file.sections();
    DebugList<DebugUnit> units;
    DebugList<UnitRange> ranges;
    REQUIRE(read_debug_units(sections, units, ranges));
    REQUIRE_FALSE(ranges.empty());
    for (const UnitRange& range : ranges) CHECK_FALSE(stands_alone(sections, *range.unit));
}
#endif

TEST_CASE("a file without debug information has no units")
{
    DebugList<DebugUnit> units;
    DebugList<UnitRange> ranges;
    CHECK(read_debug_units(DebugSections{}, units, ranges));
    CHECK(units.empty());
}

TEST_CASE("what is cut off is not understood, and nothing is read behind it")
{
    const File whole(PLUGIN);
    REQUIRE(read(whole));
    File file = whole;
    for (std::size_t size = 1; size < whole.bytes[DebugSections::info].size(); size += 3) {
        file.bytes[DebugSections::info].assign(whole.bytes[DebugSections::info].begin(),
                                               whole.bytes[DebugSections::info].begin() + static_cast<long>(size));
        file.bytes[DebugSections::info].shrink_to_fit();
        CHECK_FALSE(read(file));
    }
    for (const auto section : {DebugSections::abbrev, DebugSections::rnglists, DebugSections::addr}) {
        file = whole;
        file.bytes[section].clear();
        if (!whole.bytes[section].empty() && section == DebugSections::abbrev) CHECK_FALSE(read(file));
        static_cast<void>(read(file));
    }
}

TEST_CASE("changed bytes do no harm")
{
    const File whole(PLUGIN);
    std::mt19937 random(1); // the same each time
    for (int round = 0; round < 3000; ++round) {
        File file = whole;
        for (const auto section : {DebugSections::info, DebugSections::abbrev, DebugSections::ranges,
                                   DebugSections::rnglists, DebugSections::addr}) {
            std::vector<unsigned char>& bytes = file.bytes[section];
            for (int i = 0; i < 3 && !bytes.empty(); ++i)
                bytes[random() % std::min<std::size_t>(bytes.size(), 400)] = static_cast<unsigned char>(random());
        }
        static_cast<void>(read(file));
    }
}
