// SPDX-License-Identifier: BSL-1.0
// Finds the unwind description of a code address in a module's .eh_frame. Reads only inside the range it is given.
// Source: LSB 5.0 core, sections 10.6 (.eh_frame, .eh_frame_hdr).
#pragma once

#include "base/byte_reader.hpp"

#include <cstdint>

namespace heapmark::capture {

using base::ByteReader;
using base::PointerEncoding;

/// The bytes of a module's unwind tables: everything read lies in [begin, end).
struct UnwindTables {
    const std::uint8_t* header; ///< .eh_frame_hdr
    const std::uint8_t* begin;
    const std::uint8_t* end;
};

/// A frame description with the common part it refers to.
struct FrameDescription {
    std::uintptr_t begin; ///< code range [begin, end)
    std::uintptr_t end;
    ByteReader common_instructions;
    ByteReader instructions;
    std::uint64_t code_alignment;
    std::int64_t data_alignment;
    std::uint64_t return_register;
    std::uint8_t pointer_encoding;
    bool signal_frame; ///< the frame above was interrupted, not called
};

/// Reads the description at `at`; false when it is no frame description, or broken.
bool read_frame_description(const UnwindTables& tables, const std::uint8_t* at, FrameDescription& out) noexcept;

/// The description that covers `address`: by the header's search table, or without one by reading .eh_frame through.
bool find_frame_description(const UnwindTables& tables, std::uintptr_t address, FrameDescription& out) noexcept;

/// First entry of .eh_frame, nullptr when the header does not tell; and the entry after one, nullptr at the end.
const std::uint8_t* first_entry(const UnwindTables& tables) noexcept;
const std::uint8_t* next_entry(const UnwindTables& tables, const std::uint8_t* entry) noexcept;

} // namespace heapmark::capture
