// SPDX-License-Identifier: BSL-1.0
#include "symbolise/debug_units.hpp"

#include "base/byte_reader.hpp"

#include <optional>

namespace heapmark::symbolise {
namespace {

using base::ByteReader;
using Section = DebugSections::Section;

// DWARF 5 section 7.5, tables 7.2, 7.3, 7.5, 7.6; section 7.25, table 7.30.
enum Tag : std::uint64_t { tag_compile_unit = 0x11, tag_subprogram = 0x2e, tag_skeleton_unit = 0x4a };
enum UnitType : std::uint8_t { ut_compile = 1, ut_type = 2, ut_skeleton = 4, ut_split_compile = 5, ut_split_type = 6 };
enum Attribute : std::uint64_t {
    at_stmt_list = 0x10,
    at_low_pc = 0x11,
    at_high_pc = 0x12,
    at_ranges = 0x55,
    at_addr_base = 0x73,
    at_rnglists_base = 0x74,
};
enum Form : std::uint64_t {
    form_addr = 0x01,
    form_block2 = 0x03,
    form_block4 = 0x04,
    form_data2 = 0x05,
    form_data4 = 0x06,
    form_data8 = 0x07,
    form_string = 0x08,
    form_block = 0x09,
    form_block1 = 0x0a,
    form_data1 = 0x0b,
    form_flag = 0x0c,
    form_sdata = 0x0d,
    form_strp = 0x0e,
    form_udata = 0x0f,
    form_ref_addr = 0x10,
    form_ref1 = 0x11,
    form_ref2 = 0x12,
    form_ref4 = 0x13,
    form_ref8 = 0x14,
    form_ref_udata = 0x15,
    form_indirect = 0x16,
    form_sec_offset = 0x17,
    form_exprloc = 0x18,
    form_flag_present = 0x19,
    form_strx = 0x1a,
    form_addrx = 0x1b,
    form_ref_sup4 = 0x1c,
    form_strp_sup = 0x1d,
    form_data16 = 0x1e,
    form_line_strp = 0x1f,
    form_ref_sig8 = 0x20,
    form_implicit_const = 0x21,
    form_loclistx = 0x22,
    form_rnglistx = 0x23,
    form_ref_sup8 = 0x24,
    form_strx1 = 0x25,
    form_strx2 = 0x26,
    form_strx3 = 0x27,
    form_strx4 = 0x28,
    form_addrx1 = 0x29,
    form_addrx2 = 0x2a,
    form_addrx3 = 0x2b,
    form_addrx4 = 0x2c,
};
enum RangeListEntry : std::uint8_t {
    rle_end_of_list,
    rle_base_addressx,
    rle_startx_endx,
    rle_startx_length,
    rle_offset_pair,
    rle_base_address,
    rle_start_end,
    rle_start_length,
};

ByteReader reader_of(const DebugSections& sections, Section section, std::uint64_t offset = 0) noexcept
{
    const unsigned char* const begin = sections.data[section];
    ByteReader reader(begin, begin + sections.size[section]);
    reader.skip(offset);
    return reader;
}

/// The length that a unit begins with, which also says how long offsets in it are (section 7.4).
std::uint64_t read_length(ByteReader& reader, bool& is_64_bit) noexcept
{
    const std::uint64_t length = reader.fixed<std::uint32_t>();
    is_64_bit = length == 0xffff'ffff;
    return is_64_bit ? reader.fixed<std::uint64_t>() : length;
}

/// What a unit's header says, and what its first entry says of where its tables begin.
struct Unit {
    bool is_64_bit = false;
    unsigned version = 0;
    std::uint64_t addresses = 0;   ///< in .debug_addr
    std::uint64_t range_lists = 0; ///< in .debug_rnglists

    std::uint64_t offset(ByteReader& reader) const noexcept
    {
        return is_64_bit ? reader.fixed<std::uint64_t>() : reader.fixed<std::uint32_t>();
    }
};

struct Value {
    enum class Kind : std::uint8_t { other, number, address, address_index, section_offset, range_list_index };
    Kind kind = Kind::other;
    std::uint64_t number = 0;
};

std::uint64_t three_bytes(ByteReader& reader) noexcept
{
    const std::uint64_t low = reader.fixed<std::uint16_t>();
    return low | std::uint64_t{reader.byte()} << 16;
}

/// False for a form that is not known. What does not fit fails the reader.
bool read_value(ByteReader& reader, std::uint64_t form, std::int64_t implicit, const Unit& unit, Value& value) noexcept
{
    using Kind = Value::Kind;
    value = {};
    switch (form) {
    case form_addr: value = {Kind::address, reader.fixed<std::uint64_t>()}; break;
    case form_data1: value = {Kind::number, reader.byte()}; break;
    case form_data2: value = {Kind::number, reader.fixed<std::uint16_t>()}; break;
    case form_data4: value = {Kind::number, reader.fixed<std::uint32_t>()}; break;
    case form_data8: value = {Kind::number, reader.fixed<std::uint64_t>()}; break;
    case form_udata: value = {Kind::number, reader.uleb()}; break;
    case form_sdata: reader.sleb(); break;
    case form_implicit_const: value = {Kind::number, static_cast<std::uint64_t>(implicit)}; break;
    case form_sec_offset: value = {Kind::section_offset, unit.offset(reader)}; break;
    case form_rnglistx: value = {Kind::range_list_index, reader.uleb()}; break;
    case form_addrx: value = {Kind::address_index, reader.uleb()}; break;
    case form_addrx1: value = {Kind::address_index, reader.byte()}; break;
    case form_addrx2: value = {Kind::address_index, reader.fixed<std::uint16_t>()}; break;
    case form_addrx3: value = {Kind::address_index, three_bytes(reader)}; break;
    case form_addrx4: value = {Kind::address_index, reader.fixed<std::uint32_t>()}; break;
    case form_flag_present: break;
    case form_flag:
    case form_ref1:
    case form_strx1: reader.skip(1); break;
    case form_ref2:
    case form_strx2: reader.skip(2); break;
    case form_strx3: reader.skip(3); break;
    case form_ref4:
    case form_ref_sup4:
    case form_strx4: reader.skip(4); break;
    case form_ref8:
    case form_ref_sup8:
    case form_ref_sig8: reader.skip(8); break;
    case form_data16: reader.skip(16); break;
    case form_ref_udata:
    case form_strx:
    case form_loclistx: reader.uleb(); break;
    case form_strp:
    case form_strp_sup:
    case form_line_strp: unit.offset(reader); break;
    case form_ref_addr:
        if (unit.version == 2)
            reader.skip(sizeof(std::uint64_t));
        else
            unit.offset(reader);
        break;
    case form_string:
        while (reader.byte() != 0) {} // bytes behind the end read as zero
        break;
    case form_block1: reader.skip(reader.byte()); break;
    case form_block2: reader.skip(reader.fixed<std::uint16_t>()); break;
    case form_block4: reader.skip(reader.fixed<std::uint32_t>()); break;
    case form_block:
    case form_exprloc: reader.skip(reader.uleb()); break;
    case form_indirect: {
        const std::uint64_t actual = reader.uleb();
        return actual != form_indirect && actual != form_implicit_const && read_value(reader, actual, 0, unit, value);
    }
    default: return false;
    }
    return true;
}

/// Reads a declaration of .debug_abbrev up to the end of its attributes, each of which `each(name, form, implicit)` gets.
template <class Each>
void read_attributes(ByteReader& abbreviations, Each each)
{
    while (abbreviations.ok()) {
        const std::uint64_t name = abbreviations.uleb();
        const std::uint64_t form = abbreviations.uleb();
        const std::int64_t implicit = form == form_implicit_const ? abbreviations.sleb() : 0;
        if (name == 0 && form == 0) return;
        each(name, form, implicit);
    }
}

struct Declaration {
    std::uint64_t code;
    std::uint64_t tag;
    bool has_children;
    ByteReader attributes;
};

/// The declarations of a unit, read as far as they were asked for.
class Abbreviations {
public:
    explicit Abbreviations(ByteReader reader) noexcept : reader_(reader) {}

    /// nullptr when there is none with that code.
    const Declaration* find(std::uint64_t code)
    {
        // Compilers number them from 1 on.
        if (code - 1 < known_.size() && known_[code - 1].code == code) return &known_[code - 1];
        for (const Declaration& each : known_)
            if (each.code == code) return &each;
        while (reader_.ok() && !reader_.at_end()) {
            Declaration next{};
            next.code = reader_.uleb();
            if (next.code == 0) break;
            next.tag = reader_.uleb();
            next.has_children = reader_.byte() != 0;
            next.attributes = reader_;
            read_attributes(reader_, [](std::uint64_t, std::uint64_t, std::int64_t) {});
            if (!reader_.ok()) break;
            known_.push_back(next);
            if (next.code == code) return &known_.back();
        }
        reader_ = {};
        return nullptr;
    }

private:
    ByteReader reader_;
    DebugList<Declaration> known_;
};

/// Where code of an entry lies.
struct Place {
    std::optional<Value> low;
    std::optional<Value> high;
    std::optional<Value> ranges;
};

class UnitReader {
public:
    UnitReader(const DebugSections& sections, DebugUnit& unit, DebugList<UnitRange>& ranges) noexcept
        : sections_(sections), unit_(unit), ranges_(ranges)
    {}

    /// `reader` stands before the header.
    bool read(ByteReader reader)
    {
        read_length(reader, header_.is_64_bit);
        header_.version = reader.fixed<std::uint16_t>();
        if (header_.version < 2 || header_.version > 5) return false;
        std::uint8_t type = ut_compile;
        std::uint8_t address_bytes = 0;
        if (header_.version >= 5) {
            type = reader.byte();
            address_bytes = reader.byte();
        }
        unit_.abbreviations = header_.offset(reader);
        if (header_.version < 5) address_bytes = reader.byte();
        if (address_bytes != sizeof(std::uint64_t)) return false;
        if (type == ut_skeleton || type == ut_split_compile) reader.skip(8);
        if (type == ut_type || type == ut_split_type) {
            reader.skip(8);
            header_.offset(reader);
        }
        return reader.ok() && read_entries(reader);
    }

private:
    /// All entries of the unit; of one that says itself where its code lies, the first.
    bool read_entries(ByteReader reader)
    {
        Abbreviations abbreviations(reader_of(sections_, DebugSections::abbrev, unit_.abbreviations));
        for (bool first = true; !reader.at_end(); first = false) {
            const std::uint64_t code = reader.uleb();
            if (code == 0) { // the end of a list of children
                if (first) return reader.ok();
                continue;
            }
            const Declaration* const declaration = abbreviations.find(code);
            if (declaration == nullptr) return false;
            const bool is_unit = declaration->tag == tag_compile_unit || declaration->tag == tag_skeleton_unit;
            Place place;
            if (!read_entry(reader, *declaration, is_unit, place)) return false;
            if ((is_unit || declaration->tag == tag_subprogram) && !add(place)) return false;
            if (is_unit && (place.ranges || (place.low && place.high))) return true;
            if (first && !declaration->has_children) return true;
        }
        return reader.ok();
    }

    bool read_entry(ByteReader& reader, const Declaration& declaration, bool is_unit, Place& place)
    {
        bool known = true;
        ByteReader attributes = declaration.attributes;
        read_attributes(attributes, [&](std::uint64_t name, std::uint64_t form, std::int64_t implicit) {
            Value value;
            known = known && read_value(reader, form, implicit, header_, value);
            if (!known) return;
            switch (name) {
            case at_low_pc: place.low = value; break;
            case at_high_pc: place.high = value; break;
            case at_ranges: place.ranges = value; break;
            case at_addr_base: header_.addresses = value.number; break;
            case at_rnglists_base: header_.range_lists = value.number; break;
            case at_stmt_list:
                if (is_unit) unit_.lines = value.number;
                break;
            default: break;
            }
        });
        return known && reader.ok();
    }

    bool add(const Place& place)
    {
        std::uint64_t low = 0;
        if (place.low && !address_of(*place.low, low)) return false;
        if (place.low && place.high) {
            std::uint64_t high = 0;
            if (place.high->kind == Value::Kind::number)
                high = low + place.high->number;
            else if (!address_of(*place.high, high))
                return false;
            add(low, high);
            return true;
        }
        if (!place.ranges) return true;
        return header_.version < 5 ? add_ranges(*place.ranges, low) : add_range_list(*place.ranges, low);
    }

    /// The unit's last range grows where that goes on from there.
    void add(std::uint64_t low, std::uint64_t high)
    {
        if (!ranges_.empty()) {
            UnitRange& last = ranges_.back();
            if (last.unit == &unit_ && (low == last.high || low == last.high + 1)) {
                if (high > last.high) last.high = high;
                return;
            }
        }
        ranges_.push_back({low, high, &unit_});
    }

    bool address_of(const Value& value, std::uint64_t& address) const noexcept
    {
        address = value.number;
        if (value.kind == Value::Kind::address) return true;
        return value.kind == Value::Kind::address_index && address_at(value.number, address);
    }

    bool address_at(std::uint64_t index, std::uint64_t& address) const noexcept
    {
        if (index > sections_.size[DebugSections::addr] / sizeof address) return false;
        ByteReader reader = reader_of(sections_, DebugSections::addr, header_.addresses + index * sizeof address);
        address = reader.fixed<std::uint64_t>();
        return reader.ok();
    }

    bool add_ranges(const Value& at, std::uint64_t base)
    {
        if (at.kind != Value::Kind::section_offset && at.kind != Value::Kind::number) return false;
        ByteReader reader = reader_of(sections_, DebugSections::ranges, at.number);
        while (reader.ok()) {
            const auto low = reader.fixed<std::uint64_t>();
            const auto high = reader.fixed<std::uint64_t>();
            if (low == 0 && high == 0) break;
            if (low == ~std::uint64_t{0})
                base = high;
            else
                add(low + base, high + base);
        }
        return reader.ok();
    }

    bool add_range_list(const Value& at, std::uint64_t base)
    {
        std::uint64_t offset = at.number;
        if (at.kind == Value::Kind::range_list_index) {
            if (at.number > sections_.size[DebugSections::rnglists]) return false;
            ByteReader table = reader_of(sections_, DebugSections::rnglists,
                                         header_.range_lists + at.number * (header_.is_64_bit ? 8 : 4));
            offset = header_.range_lists + header_.offset(table);
            if (!table.ok()) return false;
        } else if (at.kind != Value::Kind::section_offset && at.kind != Value::Kind::number) {
            return false;
        }
        ByteReader reader = reader_of(sections_, DebugSections::rnglists, offset);
        while (reader.ok()) {
            std::uint64_t low = 0;
            std::uint64_t high = 0;
            switch (reader.byte()) {
            case rle_end_of_list: return reader.ok();
            case rle_base_addressx:
                if (!address_at(reader.uleb(), base)) return false;
                continue;
            case rle_base_address: base = reader.fixed<std::uint64_t>(); continue;
            case rle_startx_endx:
                if (!address_at(reader.uleb(), low) || !address_at(reader.uleb(), high)) return false;
                break;
            case rle_startx_length:
                if (!address_at(reader.uleb(), low)) return false;
                high = low + reader.uleb();
                break;
            case rle_offset_pair:
                low = base + reader.uleb();
                high = base + reader.uleb();
                break;
            case rle_start_end:
                low = reader.fixed<std::uint64_t>();
                high = reader.fixed<std::uint64_t>();
                break;
            case rle_start_length:
                low = reader.fixed<std::uint64_t>();
                high = low + reader.uleb();
                break;
            default: return false;
            }
            if (reader.ok()) add(low, high);
        }
        return false;
    }

    const DebugSections& sections_;
    DebugUnit& unit_;
    DebugList<UnitRange>& ranges_;
    Unit header_;
};

} // namespace

bool read_debug_units(const DebugSections& sections, DebugList<DebugUnit>& units, DebugList<UnitRange>& ranges)
{
    units.clear();
    ranges.clear();
    ByteReader reader = reader_of(sections, DebugSections::info);
    while (!reader.at_end()) {
        const auto begin = static_cast<std::size_t>(reader.position() - sections.data[DebugSections::info]);
        bool is_64_bit = false;
        reader.skip(read_length(reader, is_64_bit));
        if (!reader.ok()) return false;
        const auto end = static_cast<std::size_t>(reader.position() - sections.data[DebugSections::info]);
        units.push_back({begin, end - begin, 0, 0});
    }
    // From here on they stay where they are.
    for (DebugUnit& unit : units)
        if (!UnitReader(sections, unit, ranges)
                 .read(reader_of(sections, DebugSections::info, unit.begin).part(unit.size)))
            return false;
    return true;
}

bool stands_alone(const DebugSections& sections, const DebugUnit& unit)
{
    ByteReader reader = reader_of(sections, DebugSections::abbrev, unit.abbreviations);
    bool alone = true;
    while (alone && reader.ok() && !reader.at_end() && reader.uleb() != 0) {
        reader.uleb();
        reader.byte();
        read_attributes(reader, [&](std::uint64_t, std::uint64_t form, std::int64_t) {
            alone = alone && form != form_ref_addr && form != form_indirect;
        });
    }
    return alone && reader.ok();
}

} // namespace heapmark::symbolise
