// SPDX-License-Identifier: BSL-1.0
// Debug information, unit by unit. The embedded libbacktrace reads something of all units of a file before it answers, ten
// milliseconds and more in a test program, so here each unit has a state of its own, which is made when its addresses are
// first asked about. It is given sections in which it is the only unit; what it refers to in others stays in its place.
#include "symbolise/libbacktrace.hpp"
#include "symbolise/run_sort.hpp"

#include <algorithm>
#include <cstdlib>
#include <list>
#include <span>

namespace heapmark::symbolise {

constinit bool reads_units_alone = true;

namespace {

void ignore_error(void*, const char*, int) noexcept {}

/// The units of a file.
struct FileUnits {
    struct State {
        backtrace_state* state = nullptr;
        heapmark_backtrace_fileline fileline = nullptr; ///< nullptr: nothing to be read
        bool is_made = false;
    };

    const backtrace_state* of;
    DebugSections sections;
    DebugList<DebugUnit> units;
    DebugList<UnitRange> ranges; ///< by address, none in another
    DebugList<State> states;     ///< of the units
    State whole;                 ///< all of them, for those that refer to others
};

using AllUnits = std::list<FileUnits, analyse::MallocAllocator<FileUnits>>;

/// Whether this is what internal.h of libbacktrace has been saying since 2020: pointers are pointers, and sizes sizes.
bool is_plausible(const DebugSections& sections) noexcept
{
    constexpr std::uint64_t sizes_end = std::uint64_t{1} << 32; // below what mmap gives
    for (int i = 0; i < DebugSections::count; ++i) {
        const auto begin = reinterpret_cast<std::uintptr_t>(sections.data[i]);
        if ((begin != 0 && begin < sizes_end) || sections.size[i] >= sizes_end || (begin == 0 && sections.size[i] != 0))
            return false;
    }
    return sections.size[DebugSections::info] != 0 && sections.size[DebugSections::abbrev] != 0;
}

/// As dwarf.c of libbacktrace has them in order.
int compare_ranges(const void* a, const void* b) noexcept
{
    const auto& x = *static_cast<const UnitRange*>(a);
    const auto& y = *static_cast<const UnitRange*>(b);
    if (x.low != y.low) return x.low < y.low ? -1 : 1;
    if (x.high != y.high) return x.high > y.high ? -1 : 1;
    if (x.unit == nullptr || y.unit == nullptr || x.unit->lines == y.unit->lines) return 0;
    return x.unit->lines < y.unit->lines ? -1 : 1;
}

const DebugUnit* unit_at(const FileUnits& file, std::uintptr_t address)
{
    const auto after = std::upper_bound(file.ranges.begin(), file.ranges.end(), address,
                                        [](std::uintptr_t value, const UnitRange& range) { return value < range.low; });
    for (auto range = after; range != file.ranges.begin();) {
        --range;
        if (address < range->high) return range->unit;
        if (range == file.ranges.begin() || std::prev(range)->low < range->low) break;
    }
    return nullptr;
}

/// A state that knows these sections and nothing else.
FileUnits::State made_of(const DebugSections& sections)
{
    FileUnits::State made;
    made.is_made = true;
    made.state = heapmark_backtrace_create_state("", 0, ignore_error, nullptr);
    if (made.state == nullptr || heapmark_backtrace_dwarf_add(made.state, 0, &sections, 0, nullptr, ignore_error,
                                                              nullptr, &made.fileline, nullptr) == 0)
        made.fileline = nullptr;
    return made;
}

const FileUnits::State& state_of(FileUnits& file, const DebugUnit& unit)
{
    FileUnits::State& state = file.states[static_cast<std::size_t>(&unit - file.units.data())];
    if (state.is_made) return state;
    if (stands_alone(file.sections, unit)) {
        DebugSections its = file.sections;
        its.data[DebugSections::info] += unit.begin;
        its.size[DebugSections::info] = unit.size;
        return state = made_of(its);
    }
    if (!file.whole.is_made) file.whole = made_of(file.sections);
    return state = file.whole;
}

/// As std::qsort, which takes a fifth of the time that it takes to read a large source: lines are mostly in order.
void sort(void* base, std::size_t count, std::size_t size, int (*compare)(const void*, const void*)) noexcept
{
    struct Element { // most of what libbacktrace sorts
        std::uint64_t words[3];
    };
    try {
        if (size == sizeof(Element)) {
            const auto is_before = [compare](const Element& a, const Element& b) { return compare(&a, &b) < 0; };
            return sort_runs(std::span<Element>(static_cast<Element*>(base), count), is_before);
        }
    } catch (const std::bad_alloc&) {
        // In its place, then.
    }
    std::qsort(base, count, size, compare);
}

/// Ranges do overlap: the linker lets the debug information of a dropped copy of an inline function tell of the copy that
/// was kept, which is in the range of another unit already. So what a range shares with an earlier one is left to that.
void sort_ranges(void* base, std::size_t count, std::size_t size, int (*compare)(const void*, const void*))
{
    sort(base, count, size, compare);
    struct Range { // as the start of unit_addrs and function_addrs of libbacktrace's dwarf.c
        std::uintptr_t low;
        std::uintptr_t high;
        const void* of;
    };
    if (size != sizeof(Range) || count == 0) return;
    // Lines and symbols are of that size, too. Of all orders only that of ranges puts the longer first.
    const Range shorter{10, 20, nullptr};
    const Range longer{10, 30, nullptr};
    if (compare(&shorter, &longer) <= 0) return;
    const std::span<Range> ranges(static_cast<Range*>(base), count);
    Range before = ranges[0];
    for (Range& range : ranges) {
        if (range.low > before.low && range.low < before.high) {
            if (range.high <= before.high)
                range = before;
            else
                range.low = before.high;
        }
        if (range.high > before.high) before = range;
    }
    sort(base, count, size, compare);
}

bool keep_units(backtrace_state* state, const DebugSections& sections) noexcept
try {
    FileUnits file{state, sections, {}, {}, {}, {}};
    if (!is_plausible(sections) || !read_debug_units(sections, file.units, file.ranges)) return false;
    sort_ranges(file.ranges.data(), file.ranges.size(), sizeof(UnitRange), compare_ranges);
    file.states.resize(file.units.size());
    analyse::immortal<AllUnits>().push_back(std::move(file)); // vectors that are moved leave their elements in place
    return true;
} catch (const std::bad_alloc&) {
    return false; // the caller is C, and may have more luck
}

int tell_by_units(backtrace_state* state, std::uintptr_t pc, heapmark_backtrace_full callback,
                  heapmark_backtrace_error error, void* data)
{
    for (FileUnits& file : analyse::immortal<AllUnits>()) {
        if (file.of != state) continue;
        const DebugUnit* const unit = unit_at(file, pc);
        if (unit == nullptr) break;
        const FileUnits::State& its = state_of(file, *unit);
        if (its.fileline == nullptr) break;
        return its.fileline(its.state, pc, callback, error, data);
    }
    return callback(data, pc, nullptr, 0, nullptr);
}

} // namespace
} // namespace heapmark::symbolise

extern "C" {
/// Stands for the sort of the embedded copy, which looks units and functions up by the last range that begins at or
/// before an address, and finds nothing where that one has ended but an earlier one has not.
__attribute__((visibility("hidden"))) void heapmark_backtrace_qsort(void* base, std::size_t count, std::size_t size,
                                                                    int (*compare)(const void*, const void*))
{
    heapmark::symbolise::sort_ranges(base, count, size, compare);
}

/// Stands for what reads the debug information of a file in the embedded copy: keeps it for later.
__attribute__((visibility("hidden"))) int
heapmark_backtrace_instead_of_dwarf_add(backtrace_state* state, std::uintptr_t base,
                                        const heapmark::symbolise::DebugSections* sections, int is_big_endian,
                                        dwarf_data* supplement, heapmark_backtrace_error error, void* data,
                                        heapmark_backtrace_fileline* fileline, dwarf_data** entry)
{
    const bool is_plain = heapmark::symbolise::reads_units_alone && base == 0 && is_big_endian == 0 &&
                          supplement == nullptr && entry == nullptr;
    if (is_plain && heapmark::symbolise::keep_units(state, *sections)) {
        *fileline = heapmark::symbolise::tell_by_units;
        return 1;
    }
    return heapmark_backtrace_dwarf_add(state, base, sections, is_big_endian, supplement, error, data, fileline, entry);
}
}
