// SPDX-License-Identifier: BSL-1.0
// Evaluates the DWARF expressions of unwind rules: a small stack, a bounded number of steps, probed memory.
// Source: DWARF 5 section 2.5.
#pragma once

#include "base/byte_reader.hpp"
#include "capture/registers.hpp"
#include "capture/stack_window.hpp"

#include <cstdint>

namespace heapmark::capture {

using base::ByteReader;

/// Values of the registers in one frame, with which of them are known.
struct RegisterFile {
    std::uint64_t values[arch::register_count];
    std::uint32_t known; ///< bit per register

    [[nodiscard]] bool has(std::uint64_t number) const noexcept
    {
        return number < arch::register_count && (known >> number & 1U) != 0;
    }
    void set(unsigned number, std::uint64_t value) noexcept
    {
        values[number] = value;
        known |= 1U << number;
    }
};

/// Reads one word through the window, or anywhere else where a probe finds it.
bool read_word(StackWindow& window, std::uintptr_t address, std::uint64_t& value) noexcept;

/// `code` on a stack that begins with `initial` when that is not nullptr. False when it is broken, too long, needs an
/// unknown register or memory that is not there.
bool evaluate(ByteReader code, const RegisterFile& registers, StackWindow& window, const std::uint64_t* initial,
              std::uint64_t& result) noexcept;

} // namespace heapmark::capture
