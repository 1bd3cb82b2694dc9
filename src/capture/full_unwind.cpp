// SPDX-License-Identifier: BSL-1.0
// Applies whole rows of unwind rules to a whole register file, frame by frame.
#include "capture/full_unwind.hpp"

#include "capture/cfi.hpp"
#include "capture/frame_bits.hpp"
#include "capture/module_tables.hpp"

namespace heapmark::capture {
namespace {

/// Sets what a register's rule gives for the caller. What cannot be told is left unknown: it may not be needed.
void restore(unsigned number, const Row& row, const UnwindTables& tables, std::uint64_t frame, const RegisterFile& here,
             StackWindow& window, RegisterFile& above) noexcept
{
    const std::uint64_t operand = row.operands[number];
    std::uint64_t value = 0;
    bool known = false;
    switch (row.rules[number]) {
    case RegisterRule::undefined: break;
    case RegisterRule::unspecified:
    case RegisterRule::same:
        known =
            here.has(number) && (row.rules[number] == RegisterRule::same || (arch::kept_registers >> number & 1U) != 0);
        value = here.values[number];
        break;
    case RegisterRule::in_register:
        known = here.has(operand);
        if (known) value = here.values[operand];
        break;
    case RegisterRule::value_is:
        known = true;
        value = frame + operand;
        break;
    case RegisterRule::saved_at: known = read_word(window, frame + operand, value); break;
    case RegisterRule::value_is_expression:
        known = evaluate(expression_at(tables, operand), here, window, &frame, value);
        break;
    case RegisterRule::saved_at_expression:
        known =
            evaluate(expression_at(tables, operand), here, window, &frame, value) && read_word(window, value, value);
        break;
    }
    if (known) above.set(number, value);
}

/// One frame of the walk: registers as they were there, the return address included.
struct FullFrame {
    RegisterFile registers;
    const platform::Module* module; ///< of the return address

    [[nodiscard]] std::uintptr_t pc() const noexcept { return registers.values[arch::return_register]; }
    [[nodiscard]] std::uintptr_t sp() const noexcept { return registers.values[arch::stack_register]; }
};

/// Goes on to the caller; false at the end of the stack or of what can be told.
bool step(FullFrame& frame, StackWindow& window) noexcept
{
    if (frame.module == nullptr) return false;
    const UnwindTables tables = tables_of(*frame.module);
    FrameDescription description;
    Row row;
    if (!find_frame_description(tables, frame.pc() - 1, description) || !find_row(description, frame.pc() - 1, row))
        return false;
    if (row.rules[arch::return_register] == RegisterRule::undefined ||
        row.rules[arch::return_register] == RegisterRule::unspecified ||
        description.return_register != arch::return_register)
        return false;

    const RegisterFile here = frame.registers;
    std::uint64_t frame_address = 0;
    if (row.frame_is_expression) {
        // Expressions see the instruction itself, not the address behind it: PLT entries look at its low bits.
        RegisterFile at_instruction = here;
        --at_instruction.values[arch::return_register];
        if (!evaluate(expression_at(tables, row.frame_operand), at_instruction, window, nullptr, frame_address))
            return false;
    } else if (here.has(row.frame_register)) {
        frame_address = here.values[row.frame_register] + row.frame_operand;
    } else {
        return false;
    }

    RegisterFile& above = frame.registers;
    above = RegisterFile{};
    for (unsigned number = 0; number < arch::register_count; ++number)
        restore(number, row, tables, frame_address, here, window, above);
    if (row.rules[arch::stack_register] == RegisterRule::unspecified) above.set(arch::stack_register, frame_address);
    if (!above.has(arch::return_register) || !above.has(arch::stack_register) || frame.pc() == 0) return false;

    if (description.signal_frame) {
        above.set(arch::return_register, frame.pc() + 1); // so that one less is the interrupted instruction
        window.enter(frame.sp());
    } else if (frame.sp() <= here.values[arch::stack_register]) {
        return false; // callers lie above: anything else is a broken or endless stack
    }
    frame.module = platform::module_at(frame.pc() - 1);
    return true;
}

} // namespace

[[gnu::cold, gnu::noinline]] unsigned capture_fully(const Caller& caller, const platform::StackBounds& stack,
                                                    std::uint64_t* frames, unsigned max_frames) noexcept
{
    constexpr unsigned own_frames_limit = 64; // between here and `caller`: a few, more in unoptimised builds
    FullFrame frame{};
    arch::take_registers(frame.registers.values);
    frame.registers.known = arch::kept_registers | 1U << arch::return_register;
    ++frame.registers.values[arch::return_register];
    frame.module = platform::module_at(frame.pc() - 1);
    StackWindow window(stack);
    window.enter(frame.sp());

    for (unsigned own = 0; frame.pc() != caller.pc || frame.sp() != caller.sp; ++own)
        if (own == own_frames_limit || !step(frame, window)) return 0;

    unsigned count = 0;
    while (count < max_frames && is_frame_address(frame.pc())) {
        frames[count++] = frame_bits(frame.pc(), frame.module);
        if (!step(frame, window)) break;
    }
    return count;
}

[[gnu::cold]] std::uint64_t frame_that_holds(std::uintptr_t address, const RegisterFile& registers, bool returns_there,
                                             std::uintptr_t in_use_from, const platform::StackBounds& stack) noexcept
{
    constexpr unsigned frame_limit = 4096; // some milliseconds
    FullFrame frame{};
    frame.registers = registers;
    if (!returns_there) ++frame.registers.values[arch::return_register];
    frame.module = platform::module_at(frame.pc() - 1);
    StackWindow window(stack);
    window.enter(frame.sp());
    std::uintptr_t begin = in_use_from;
    for (unsigned i = 0; i < frame_limit && is_frame_address(frame.pc()); ++i) {
        const std::uint64_t bits = frame_bits(frame.pc(), frame.module);
        if (!step(frame, window)) return 0;
        if (address >= begin && address < frame.sp()) return bits;
        begin = frame.sp();
    }
    return 0;
}

} // namespace heapmark::capture
