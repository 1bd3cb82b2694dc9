// SPDX-License-Identifier: BSL-1.0
// The unwind rules of one code address in eight bytes: enough for nearly all compiled code, and marked as complex
// where it is not.
#pragma once

#include "capture/cfi.hpp"

#include <cstdint>

namespace heapmark::capture {

/// Bits 0..7 the kind; 16..31 (signed) where the caller's frame register is saved; 32..63 (signed) the frame address.
/// The return address is not in it: on x86-64 it lies right below the frame address.
struct Rule {
    std::uint64_t bits;

    /// Ordinary: frame address = stack or frame register + offset; the frame register is saved at frame address +
    /// save offset, or kept. Told apart by the sign of the low byte, and by flags rather than by kinds, so that the
    /// walk has no hard-to-predict branch.
    static constexpr std::uint8_t ordinary = 0x80;
    static constexpr std::uint8_t frame_from_fp = 0x01;
    static constexpr std::uint8_t fp_saved = 0x02;

    static constexpr std::uint8_t none = 0; ///< an empty cache entry
    /// No caller: the first frame of a thread or program, or code without tables.
    static constexpr std::uint8_t end = 1;
    /// Realigned frame: frame address = word at (frame register + offset), and the save offset is from the frame
    /// register too. GCC makes these for over-aligned locals.
    static constexpr std::uint8_t realigned = 2;
    static constexpr std::uint8_t signal_frame = 3;
    static constexpr std::uint8_t complex = 4; ///< only the full unwinder can tell

    [[nodiscard]] bool is_ordinary() const noexcept { return static_cast<std::int8_t>(bits) < 0; }
    [[nodiscard]] std::uint8_t kind() const noexcept { return static_cast<std::uint8_t>(bits); }
    [[nodiscard]] std::intptr_t save_offset() const noexcept
    {
        return static_cast<std::int16_t>(static_cast<std::uint16_t>(bits >> 16));
    }
    [[nodiscard]] std::intptr_t frame_offset() const noexcept { return static_cast<std::int64_t>(bits) >> 32; }
};

/// The rule for the caller of code at `address` (for a return address: one less). Rule::end without tables for it.
Rule compile_rule(const UnwindTables& tables, std::uintptr_t address) noexcept;

} // namespace heapmark::capture
