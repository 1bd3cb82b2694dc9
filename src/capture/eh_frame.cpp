// SPDX-License-Identifier: BSL-1.0
// Decodes .eh_frame_hdr, common information entries and frame descriptions.
#include "capture/eh_frame.hpp"

namespace heapmark::capture {
namespace {

using E = PointerEncoding;

/// A reader from `at` to the end of the tables; empty and failed when `at` is outside.
ByteReader reader_at(const UnwindTables& tables, const std::uint8_t* at) noexcept
{
    // Compared as numbers: the address may come from broken bytes.
    const auto place = reinterpret_cast<std::uintptr_t>(at);
    if (place < reinterpret_cast<std::uintptr_t>(tables.begin) ||
        place >= reinterpret_cast<std::uintptr_t>(tables.end)) {
        ByteReader none;
        none.skip(1);
        return none;
    }
    return {at, tables.end};
}

const std::uint8_t* as_position(std::uintptr_t address) noexcept
{
    return reinterpret_cast<const std::uint8_t*>(address); // NOLINT
}

/// The body of the entry that `reader` stands at. Entries with 64-bit lengths are not written by any linker for
/// .eh_frame, and how they name their common entry is not agreed on: they count as broken.
ByteReader entry_body(ByteReader& reader) noexcept
{
    const auto length = reader.fixed<std::uint32_t>();
    if (length == 0xffffffff) return {};
    return reader.part(length);
}

struct Common {
    ByteReader instructions;
    std::uint64_t code_alignment = 0;
    std::int64_t data_alignment = 0;
    std::uint64_t return_register = 0;
    std::uint8_t pointer_encoding = E::absolute;
    bool has_augmentation_data = false;
    bool signal_frame = false;
};

bool read_common(const UnwindTables& tables, const std::uint8_t* at, Common& out) noexcept
{
    ByteReader reader = reader_at(tables, at);
    ByteReader body = entry_body(reader);
    if (body.fixed<std::uint32_t>() != 0) return false;
    const std::uint8_t version = body.byte();
    if (version != 1 && version != 3 && version != 4) return false;

    char augmentation[8] = {};
    unsigned length = 0;
    for (char c; (c = static_cast<char>(body.byte())) != '\0'; ++length) {
        if (length == sizeof augmentation - 1) return false;
        augmentation[length] = c;
    }
    if (version == 4) body.skip(2); // sizes of addresses and segments
    out.code_alignment = body.uleb();
    out.data_alignment = body.sleb();
    out.return_register = version == 1 ? body.byte() : body.uleb();

    if (augmentation[0] == 'z') {
        out.has_augmentation_data = true;
        ByteReader data = body.part(body.uleb());
        for (unsigned i = 1; i < length; ++i) {
            if (augmentation[i] == 'R')
                out.pointer_encoding = data.byte();
            else if (augmentation[i] == 'L')
                data.skip(1);
            else if (augmentation[i] == 'P') {
                // The value is not wanted, and may be indirect: only step over it.
                const std::uint8_t encoding = data.byte();
                data.pointer(encoding & static_cast<std::uint8_t>(~E::indirect & 0xff), 0);
            } else if (augmentation[i] == 'S')
                out.signal_frame = true;
            else
                break; // unknown letters: their data is skipped as a whole
        }
        if (!data.ok()) return false;
    } else if (length != 0)
        return false;
    out.instructions = body;
    return body.ok() && reader.ok();
}

/// The search table of the header: pairs of 32-bit offsets from the header, sorted by the first.
struct SearchTable {
    const std::uint8_t* rows = nullptr;
    std::uint64_t count = 0;
};

constexpr std::size_t row_bytes = 8;

std::int32_t row_value(const std::uint8_t* row, unsigned column) noexcept
{
    std::int32_t value;
    std::memcpy(&value, row + column * sizeof value, sizeof value);
    return value;
}

struct Header {
    const std::uint8_t* eh_frame = nullptr;
    SearchTable table;
};

bool read_header(const UnwindTables& tables, Header& out) noexcept
{
    ByteReader reader = reader_at(tables, tables.header);
    const auto data_base = reinterpret_cast<std::uintptr_t>(tables.header);
    if (reader.byte() != 1) return false;
    const std::uint8_t frame_encoding = reader.byte();
    const std::uint8_t count_encoding = reader.byte();
    const std::uint8_t table_encoding = reader.byte();
    if (!reader.ok()) return false;
    if (frame_encoding != E::omitted) out.eh_frame = as_position(reader.pointer(frame_encoding, data_base));
    if (count_encoding != E::omitted && table_encoding == (E::data_relative | E::sdata4)) {
        const std::uintptr_t count = reader.pointer(count_encoding, data_base);
        if (reader.ok() && count <= reader.left() / row_bytes) out.table = {reader.position(), count};
    }
    return reader.ok();
}

} // namespace

bool read_frame_description(const UnwindTables& tables, const std::uint8_t* at, FrameDescription& out) noexcept
{
    ByteReader reader = reader_at(tables, at);
    ByteReader body = entry_body(reader);
    const auto here = reinterpret_cast<std::uintptr_t>(body.position());
    const auto back = body.fixed<std::uint32_t>();
    if (!body.ok() || back == 0) return false;
    Common common;
    if (!read_common(tables, as_position(here - back), common)) return false;

    out.begin = body.pointer(common.pointer_encoding, 0);
    const std::uintptr_t bytes = body.number(common.pointer_encoding);
    out.end = out.begin + bytes;
    if (common.has_augmentation_data) body.skip(body.uleb());
    if (!body.ok() || out.end < out.begin) return false;
    out.common_instructions = common.instructions;
    out.instructions = body;
    out.code_alignment = common.code_alignment;
    out.data_alignment = common.data_alignment;
    out.return_register = common.return_register;
    out.pointer_encoding = common.pointer_encoding;
    out.signal_frame = common.signal_frame;
    return true;
}

bool find_frame_description(const UnwindTables& tables, std::uintptr_t address, FrameDescription& out) noexcept
{
    Header header;
    if (!read_header(tables, header)) return false;
    if (header.table.rows != nullptr) {
        const auto data_base = reinterpret_cast<std::uintptr_t>(tables.header);
        const auto start_of = [&](std::uint64_t row, unsigned column) {
            return data_base +
                   static_cast<std::uintptr_t>(std::intptr_t{row_value(header.table.rows + row * row_bytes, column)});
        };
        std::uint64_t low = 0;
        std::uint64_t high = header.table.count;
        while (low < high) {
            const std::uint64_t middle = low + (high - low) / 2;
            if (start_of(middle, 0) <= address)
                low = middle + 1;
            else
                high = middle;
        }
        return low != 0 && read_frame_description(tables, as_position(start_of(low - 1, 1)), out) &&
               address >= out.begin && address < out.end;
    }
    for (const std::uint8_t* entry = header.eh_frame; entry != nullptr; entry = next_entry(tables, entry))
        if (read_frame_description(tables, entry, out) && address >= out.begin && address < out.end) return true;
    return false;
}

const std::uint8_t* first_entry(const UnwindTables& tables) noexcept
{
    Header header;
    return read_header(tables, header) ? header.eh_frame : nullptr;
}

const std::uint8_t* next_entry(const UnwindTables& tables, const std::uint8_t* entry) noexcept
{
    ByteReader reader = reader_at(tables, entry);
    const auto length = reader.fixed<std::uint32_t>();
    if (length == 0xffffffff)
        reader.skip(reader.fixed<std::uint64_t>());
    else
        reader.skip(length);
    if (!reader.ok() || length == 0 || reader.left() < sizeof length) return nullptr;
    return reader.position();
}

} // namespace heapmark::capture
