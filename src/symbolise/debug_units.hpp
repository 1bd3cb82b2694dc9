// SPDX-License-Identifier: BSL-1.0
// Which unit (what the compiler told of one source) of a file's debug information tells of an address, without reading more
// of the units than the beginning of each. Pure functions on bytes that we did not write.
// Source: DWARF 5, chapters 2.17, 3.1, 7.5, 7.25, 7.28; the answers are those of libbacktrace's dwarf.c, which reads the
// abbreviations of all units for them.
#pragma once

#include "analyse/immortal_text.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heapmark::symbolise {

/// In libbacktrace's order; data without a copy of its own.
struct DebugSections {
    enum Section { info, line, abbrev, ranges, str, addr, str_offsets, line_str, rnglists, count };
    const unsigned char* data[count];
    std::size_t size[count];

    [[nodiscard]] std::span<const unsigned char> operator[](Section section) const noexcept
    {
        return {data[section], size[section]};
    }
};

struct DebugUnit {
    std::size_t begin; ///< in .debug_info
    std::size_t size;
    std::uint64_t abbreviations; ///< in .debug_abbrev
    std::uint64_t lines;         ///< in .debug_line
};

/// Addresses [low, high) that a unit tells of.
struct UnitRange {
    std::uintptr_t low;
    std::uintptr_t high;
    const DebugUnit* unit;
};

template <class T>
using DebugList = std::vector<T, analyse::MallocAllocator<T>>;

/// Fills both, ranges in the order of the units. False: there is something in it that is not understood.
[[nodiscard]] bool read_debug_units(const DebugSections& sections, DebugList<DebugUnit>& units,
                                    DebugList<UnitRange>& ranges);

/// Whether the unit can be understood without the others: it refers to none of their entries, as those of link time
/// optimisation do. False also where that cannot be told.
[[nodiscard]] bool stands_alone(const DebugSections& sections, const DebugUnit& unit);

} // namespace heapmark::symbolise
