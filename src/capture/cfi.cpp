// SPDX-License-Identifier: BSL-1.0
// The call frame instruction interpreter.
#include "capture/cfi.hpp"

namespace heapmark::capture {
namespace {

enum Opcode : std::uint8_t {
    advance_loc = 0x40,
    offset = 0x80,
    restore = 0xc0,
    primary_mask = 0xc0,
    operand_mask = 0x3f,

    nop = 0x00,
    set_loc = 0x01,
    advance_loc1 = 0x02,
    advance_loc2 = 0x03,
    advance_loc4 = 0x04,
    offset_extended = 0x05,
    restore_extended = 0x06,
    undefined = 0x07,
    same_value = 0x08,
    in_register = 0x09,
    remember_state = 0x0a,
    restore_state = 0x0b,
    def_cfa = 0x0c,
    def_cfa_register = 0x0d,
    def_cfa_offset = 0x0e,
    def_cfa_expression = 0x0f,
    expression = 0x10,
    offset_extended_sf = 0x11,
    def_cfa_sf = 0x12,
    def_cfa_offset_sf = 0x13,
    val_offset = 0x14,
    val_offset_sf = 0x15,
    val_expression = 0x16,
    gnu_args_size = 0x2e,
    gnu_negative_offset_extended = 0x2f,
};

class Interpreter {
public:
    Interpreter(const FrameDescription& description, std::uintptr_t address, Row& row) noexcept
        : description_(description), address_(address), row_(row)
    {}

    bool run() noexcept
    {
        row_ = Row{};
        row_.end = description_.end;
        location_ = description_.begin;
        if (!execute(description_.common_instructions)) return false;
        initial_ = row_;
        has_initial_ = true;
        return execute(description_.instructions);
    }

private:
    // GCC nests one deep, hand-written code rarely two. Bounded: this runs on signal stacks too.
    static constexpr unsigned nesting_limit = 4;

    bool execute(ByteReader code) noexcept
    {
        while (!code.at_end() && !done_)
            if (!step(code) || !code.ok()) return false;
        return true;
    }

    void advance(std::uint64_t delta) noexcept { move_to(location_ + delta * description_.code_alignment); }

    void move_to(std::uintptr_t location) noexcept
    {
        if (location > address_) {
            done_ = true;
            if (location < row_.end) row_.end = location;
        }
        location_ = location;
    }

    std::uint64_t factored(std::uint64_t value) const noexcept
    {
        return value * static_cast<std::uint64_t>(description_.data_alignment);
    }

    void set(std::uint64_t number, RegisterRule rule, std::uint64_t operand) noexcept
    {
        if (number >= arch::register_count) return; // vector registers and the like are of no use to us
        row_.rules[number] = rule;
        row_.operands[number] = operand;
    }

    bool reset(std::uint64_t number) noexcept
    {
        if (!has_initial_) return false;
        if (number < arch::register_count) set(number, initial_.rules[number], initial_.operands[number]);
        return true;
    }

    static std::uint64_t block(ByteReader& code) noexcept
    {
        const auto position = reinterpret_cast<std::uint64_t>(code.position());
        code.skip(code.uleb());
        return position;
    }

    void define_frame(std::uint64_t number, std::uint64_t operand) noexcept
    {
        row_.frame_is_expression = false;
        row_.frame_register = number;
        row_.frame_operand = operand;
    }

    bool step(ByteReader& code) noexcept
    {
        const std::uint8_t opcode = code.byte();
        const std::uint8_t low = opcode & operand_mask;
        switch (opcode & primary_mask) {
        case advance_loc: advance(low); return true;
        case offset: set(low, RegisterRule::saved_at, factored(code.uleb())); return true;
        case restore: return reset(low);
        default: return extended(opcode, code);
        }
    }

    bool extended(std::uint8_t opcode, ByteReader& code) noexcept
    {
        std::uint64_t number = 0;
        switch (opcode) {
        case nop: return true;
        case set_loc: move_to(code.pointer(description_.pointer_encoding, 0)); return true;
        case advance_loc1: advance(code.byte()); return true;
        case advance_loc2: advance(code.fixed<std::uint16_t>()); return true;
        case advance_loc4: advance(code.fixed<std::uint32_t>()); return true;
        case restore_extended: return reset(code.uleb());
        case undefined: set(code.uleb(), RegisterRule::undefined, 0); return true;
        case same_value: set(code.uleb(), RegisterRule::same, 0); return true;
        case gnu_args_size: code.uleb(); return true;
        case remember_state:
            if (depth_ == nesting_limit) return false;
            remembered_[depth_++] = row_;
            return true;
        case restore_state: {
            if (depth_ == 0) return false;
            const std::uintptr_t end = row_.end;
            row_ = remembered_[--depth_];
            row_.end = end;
            return true;
        }
        case def_cfa:
            number = code.uleb();
            define_frame(number, code.uleb());
            return true;
        case def_cfa_sf:
            number = code.uleb();
            define_frame(number, factored(static_cast<std::uint64_t>(code.sleb())));
            return true;
        case def_cfa_register: define_frame(code.uleb(), row_.frame_operand); return true;
        case def_cfa_offset: define_frame(row_.frame_register, code.uleb()); return true;
        case def_cfa_offset_sf:
            define_frame(row_.frame_register, factored(static_cast<std::uint64_t>(code.sleb())));
            return true;
        case def_cfa_expression:
            row_.frame_is_expression = true;
            row_.frame_operand = block(code);
            return true;
        case in_register:
            number = code.uleb();
            set(number, RegisterRule::in_register, code.uleb());
            return true;
        case offset_extended:
            number = code.uleb();
            set(number, RegisterRule::saved_at, factored(code.uleb()));
            return true;
        case offset_extended_sf:
            number = code.uleb();
            set(number, RegisterRule::saved_at, factored(static_cast<std::uint64_t>(code.sleb())));
            return true;
        case gnu_negative_offset_extended:
            number = code.uleb();
            set(number, RegisterRule::saved_at, 0 - factored(code.uleb()));
            return true;
        case val_offset:
            number = code.uleb();
            set(number, RegisterRule::value_is, factored(code.uleb()));
            return true;
        case val_offset_sf:
            number = code.uleb();
            set(number, RegisterRule::value_is, factored(static_cast<std::uint64_t>(code.sleb())));
            return true;
        case expression:
            number = code.uleb();
            set(number, RegisterRule::saved_at_expression, block(code));
            return true;
        case val_expression:
            number = code.uleb();
            set(number, RegisterRule::value_is_expression, block(code));
            return true;
        default: return false;
        }
    }

    const FrameDescription& description_;
    std::uintptr_t address_;
    Row& row_;
    std::uintptr_t location_ = 0;
    Row initial_{};
    Row remembered_[nesting_limit];
    unsigned depth_ = 0;
    bool has_initial_ = false;
    bool done_ = false;
};

} // namespace

bool find_row(const FrameDescription& description, std::uintptr_t address, Row& out) noexcept
{
    return Interpreter(description, address, out).run();
}

ByteReader expression_at(const UnwindTables& tables, std::uint64_t operand) noexcept
{
    // Found by the interpreter inside the tables, so it is only cut to their end here.
    ByteReader reader(reinterpret_cast<const std::uint8_t*>(operand), tables.end); // NOLINT
    return reader.part(reader.uleb());
}

} // namespace heapmark::capture
