// SPDX-License-Identifier: BSL-1.0
// Packs the rules of a code address, recognising the few expressions that compilers and libc write.
#include "capture/rule.hpp"

#include <limits>

namespace heapmark::capture {
namespace {

constexpr Rule plain(std::uint8_t kind) noexcept { return {kind}; }

template <class Narrow>
bool fits(std::int64_t value) noexcept
{
    return value >= std::numeric_limits<Narrow>::min() && value <= std::numeric_limits<Narrow>::max();
}

Rule pack(unsigned kind, std::int64_t save_offset, std::int64_t frame_offset) noexcept
{
    if (!fits<std::int16_t>(save_offset) || !fits<std::int32_t>(frame_offset)) return plain(Rule::complex);
    return {kind | std::uint64_t{static_cast<std::uint16_t>(save_offset)} << 16 |
            std::uint64_t{static_cast<std::uint32_t>(frame_offset)} << 32};
}

/// The expression "register + offset", and with `dereferenced` the word there. True when it is exactly that.
bool is_register_plus(ByteReader code, unsigned number, bool dereferenced, std::int64_t& offset) noexcept
{
    constexpr unsigned op_breg0 = 0x70;
    constexpr unsigned op_deref = 0x06;
    if (code.byte() != op_breg0 + number) return false;
    offset = code.sleb();
    if (dereferenced && code.byte() != op_deref) return false;
    return code.ok() && code.at_end();
}

bool is_saved_at_stack_offset(const UnwindTables& tables, const Row& row, unsigned number, std::int64_t offset) noexcept
{
    std::int64_t found = 0;
    return row.rules[number] == RegisterRule::saved_at_expression &&
           is_register_plus(expression_at(tables, row.operands[number]), arch::stack_register, false, found) &&
           found == offset;
}

/// Whether the frame is the one Linux makes for a handler, described as glibc and the vDSO do.
bool is_linux_signal_frame(const UnwindTables& tables, const Row& row) noexcept
{
    std::int64_t offset = 0;
    return row.frame_is_expression &&
           is_register_plus(expression_at(tables, row.frame_operand), arch::stack_register, true, offset) &&
           offset == arch::signal_frame_sp_offset &&
           is_saved_at_stack_offset(tables, row, arch::frame_register, arch::signal_frame_fp_offset) &&
           is_saved_at_stack_offset(tables, row, arch::return_register, arch::signal_frame_pc_offset);
}

Rule pack_realigned(const UnwindTables& tables, const Row& row) noexcept
{
    std::int64_t frame_offset = 0;
    std::int64_t save_offset = 0;
    if (is_register_plus(expression_at(tables, row.frame_operand), arch::frame_register, true, frame_offset) &&
        row.rules[arch::frame_register] == RegisterRule::saved_at_expression &&
        is_register_plus(expression_at(tables, row.operands[arch::frame_register]), arch::frame_register, false,
                         save_offset))
        return pack(Rule::realigned, save_offset, frame_offset);
    return plain(Rule::complex);
}

Rule pack_ordinary(const Row& row) noexcept
{
    unsigned kind = Rule::ordinary;
    if (row.frame_register == arch::frame_register)
        kind |= Rule::frame_from_fp;
    else if (row.frame_register != arch::stack_register)
        return plain(Rule::complex);

    // When it is not saved the walk still reads a word and drops it: one that is surely there.
    std::int64_t save_offset = arch::return_address_offset;
    switch (row.rules[arch::frame_register]) {
    case RegisterRule::unspecified:
    case RegisterRule::same: break;
    case RegisterRule::saved_at:
        kind |= Rule::fp_saved;
        save_offset = static_cast<std::int64_t>(row.operands[arch::frame_register]);
        // The walk bounds what it reads by the end of the frame.
        if (save_offset > arch::return_address_offset) return plain(Rule::complex);
        break;
    default: return plain(Rule::complex);
    }
    return pack(kind, save_offset, static_cast<std::int64_t>(row.frame_operand));
}

} // namespace

Rule compile_rule(const UnwindTables& tables, std::uintptr_t address) noexcept
{
    FrameDescription description;
    Row row;
    if (!find_frame_description(tables, address, description) || !find_row(description, address, row))
        return plain(Rule::end);
    const RegisterRule return_rule = row.rules[arch::return_register];
    if (return_rule == RegisterRule::undefined) return plain(Rule::end);
    if (description.return_register != arch::return_register) return plain(Rule::complex);
    if (description.signal_frame) return plain(is_linux_signal_frame(tables, row) ? Rule::signal_frame : Rule::complex);
    if (return_rule != RegisterRule::saved_at ||
        static_cast<std::int64_t>(row.operands[arch::return_register]) != arch::return_address_offset ||
        row.rules[arch::stack_register] != RegisterRule::unspecified)
        return plain(Rule::complex);
    return row.frame_is_expression ? pack_realigned(tables, row) : pack_ordinary(row);
}

} // namespace heapmark::capture
