// SPDX-License-Identifier: BSL-1.0
// Runs call frame instructions up to one code address and gives the rules that hold there.
// Source: DWARF 5 section 6.4; the GNU additions as binutils and GCC write them.
#pragma once

#include "capture/eh_frame.hpp"
#include "capture/registers.hpp"

#include <cstdint>

namespace heapmark::capture {

/// How the caller's value of a register is got back.
enum class RegisterRule : std::uint8_t {
    unspecified, ///< no instruction named it: the same as here, if it is one that functions keep
    same,
    undefined,           ///< gone
    saved_at,            ///< in memory at frame address + operand
    value_is,            ///< frame address + operand
    in_register,         ///< in register `operand`
    saved_at_expression, ///< in memory at the expression's result
    value_is_expression,
};

/// Rules of one code address. Operands of expressions are positions in the tables, of a length and its bytes.
struct Row {
    std::uint64_t operands[arch::register_count];
    RegisterRule rules[arch::register_count];
    bool frame_is_expression;
    std::uint64_t frame_register;
    std::uint64_t frame_operand; ///< signed offset, or the expression
    std::uintptr_t end;          ///< the rules hold up to here, no further
};

/// False when the instructions are broken, unknown, or nested deeper than any compiler nests them.
bool find_row(const FrameDescription& description, std::uintptr_t address, Row& out) noexcept;

/// The bytes of an expression whose length stands at `operand`.
ByteReader expression_at(const UnwindTables& tables, std::uint64_t operand) noexcept;

} // namespace heapmark::capture
