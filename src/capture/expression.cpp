// SPDX-License-Identifier: BSL-1.0
// The expression machine.
#include "capture/expression.hpp"

#include "platform/safe_read.hpp"

namespace heapmark::capture {
namespace {

enum Op : std::uint8_t {
    op_addr = 0x03,
    op_deref = 0x06,
    op_const1u = 0x08,
    op_const1s,
    op_const2u,
    op_const2s,
    op_const4u,
    op_const4s,
    op_const8u,
    op_const8s,
    op_constu,
    op_consts,
    op_dup,
    op_drop,
    op_over,
    op_pick,
    op_swap,
    op_rot,
    op_abs = 0x19,
    op_and,
    op_div,
    op_minus,
    op_mod,
    op_mul,
    op_neg,
    op_not,
    op_or,
    op_plus,
    op_plus_uconst,
    op_shl,
    op_shr,
    op_shra,
    op_xor,
    op_bra,
    op_eq,
    op_ge,
    op_gt,
    op_le,
    op_lt,
    op_ne,
    op_skip,
    op_lit0 = 0x30,
    op_lit31 = 0x4f,
    op_reg0 = 0x50,
    op_reg31 = 0x6f,
    op_breg0 = 0x70,
    op_breg31 = 0x8f,
    op_regx = 0x90,
    op_bregx = 0x92,
    op_deref_size = 0x94,
    op_nop = 0x96,
};

class Machine {
public:
    Machine(ByteReader code, const RegisterFile& registers, StackWindow& window) noexcept
        : begin_(code.position()), code_(code), registers_(registers), window_(window)
    {}

    bool run(const std::uint64_t* initial, std::uint64_t& result) noexcept
    {
        constexpr unsigned step_limit = 512;
        end_ = begin_ + code_.left();
        if (initial != nullptr) push(*initial);
        for (unsigned steps = 0; ok_ && !code_.at_end(); ++steps) {
            if (steps == step_limit) return false;
            step();
            ok_ = ok_ && code_.ok();
        }
        result = pop();
        return ok_;
    }

private:
    static constexpr unsigned capacity = 16;

    void push(std::uint64_t value) noexcept
    {
        if (depth_ == capacity)
            ok_ = false;
        else
            stack_[depth_++] = value;
    }

    std::uint64_t pop() noexcept
    {
        if (depth_ == 0) {
            ok_ = false;
            return 0;
        }
        return stack_[--depth_];
    }

    void pick(unsigned from_top) noexcept
    {
        if (from_top >= depth_)
            ok_ = false;
        else
            push(stack_[depth_ - 1 - from_top]);
    }

    void push_register(std::uint64_t number, std::uint64_t offset) noexcept
    {
        if (registers_.has(number))
            push(registers_.values[number] + offset);
        else
            ok_ = false;
    }

    void dereference(unsigned bytes) noexcept
    {
        std::uint64_t value = 0;
        const std::uint64_t address = pop();
        if (!ok_ || bytes == 0 || bytes > sizeof value) {
            ok_ = false;
        } else if (bytes == sizeof value) {
            ok_ = read_word(window_, address, value);
        } else {
            ok_ = platform::safe_read(reinterpret_cast<const void*>(address), &value, bytes); // NOLINT
        }
        push(value);
    }

    void jump(std::int16_t distance) noexcept
    {
        const auto from_begin = code_.position() - begin_ + distance;
        if (from_begin < 0 || from_begin > end_ - begin_)
            ok_ = false;
        else
            code_ = ByteReader(begin_ + from_begin, end_);
    }

    static std::uint64_t extend(std::int64_t value) noexcept { return static_cast<std::uint64_t>(value); }

    void step() noexcept
    {
        const std::uint8_t op = code_.byte();
        if (op >= op_lit0 && op <= op_lit31) return push(op - op_lit0);
        if (op >= op_reg0 && op <= op_reg31) return push_register(op - op_reg0, 0);
        if (op >= op_breg0 && op <= op_breg31) return push_register(op - op_breg0, extend(code_.sleb()));
        if (op >= op_abs && op <= op_xor) return arithmetic(op);
        if (op >= op_eq && op <= op_ne) return compare(op);
        switch (op) {
        case op_nop: return;
        case op_addr:
        case op_const8u: return push(code_.fixed<std::uint64_t>());
        case op_const8s: return push(extend(code_.fixed<std::int64_t>()));
        case op_const1u: return push(code_.byte());
        case op_const1s: return push(extend(code_.fixed<std::int8_t>()));
        case op_const2u: return push(code_.fixed<std::uint16_t>());
        case op_const2s: return push(extend(code_.fixed<std::int16_t>()));
        case op_const4u: return push(code_.fixed<std::uint32_t>());
        case op_const4s: return push(extend(code_.fixed<std::int32_t>()));
        case op_constu: return push(code_.uleb());
        case op_consts: return push(extend(code_.sleb()));
        case op_regx: return push_register(code_.uleb(), 0);
        case op_bregx: {
            const std::uint64_t number = code_.uleb();
            return push_register(number, extend(code_.sleb()));
        }
        case op_deref: return dereference(sizeof(std::uint64_t));
        case op_deref_size: return dereference(code_.byte());
        case op_skip: return jump(code_.fixed<std::int16_t>());
        case op_bra: {
            const auto distance = code_.fixed<std::int16_t>();
            if (pop() != 0) jump(distance);
            return;
        }
        default: return shuffle(op);
        }
    }

    void shuffle(std::uint8_t op) noexcept
    {
        switch (op) {
        case op_dup: return pick(0);
        case op_over: return pick(1);
        case op_pick: return pick(code_.byte());
        case op_drop: pop(); return;
        case op_swap:
        case op_rot: {
            const std::uint64_t first = pop();
            const std::uint64_t second = pop();
            const std::uint64_t third = op == op_rot ? pop() : 0;
            push(first);
            if (op == op_rot) push(third);
            return push(second);
        }
        default: ok_ = false;
        }
    }

    void arithmetic(std::uint8_t op) noexcept
    {
        const std::uint64_t b = pop();
        switch (op) {
        case op_neg: return push(0 - b);
        case op_not: return push(~b);
        case op_abs: return push(static_cast<std::int64_t>(b) < 0 ? 0 - b : b);
        case op_plus_uconst: return push(b + code_.uleb());
        default: break;
        }
        const std::uint64_t a = pop();
        switch (op) {
        case op_and: return push(a & b);
        case op_or: return push(a | b);
        case op_xor: return push(a ^ b);
        case op_plus: return push(a + b);
        case op_minus: return push(a - b);
        case op_mul: return push(a * b);
        case op_shl: return push(b < 64 ? a << b : 0);
        case op_shr: return push(b < 64 ? a >> b : 0);
        case op_shra: return push(extend(static_cast<std::int64_t>(a) >> (b < 64 ? b : 63)));
        case op_mod: return b == 0 ? void(ok_ = false) : push(a % b);
        case op_div: {
            const auto divisor = static_cast<std::int64_t>(b);
            if (divisor == 0) return void(ok_ = false);
            return push(divisor == -1 ? 0 - a : extend(static_cast<std::int64_t>(a) / divisor));
        }
        default: ok_ = false;
        }
    }

    void compare(std::uint8_t op) noexcept
    {
        const auto b = static_cast<std::int64_t>(pop());
        const auto a = static_cast<std::int64_t>(pop());
        switch (op) {
        case op_eq: return push(a == b);
        case op_ge: return push(a >= b);
        case op_gt: return push(a > b);
        case op_le: return push(a <= b);
        case op_lt: return push(a < b);
        default: return push(a != b);
        }
    }

    const std::uint8_t* begin_;
    const std::uint8_t* end_ = nullptr;
    ByteReader code_;
    const RegisterFile& registers_;
    StackWindow& window_;
    std::uint64_t stack_[capacity];
    unsigned depth_ = 0;
    bool ok_ = true;
};

} // namespace

bool read_word(StackWindow& window, std::uintptr_t address, std::uint64_t& value) noexcept
{
    if (address + sizeof value < address) return false;
    if (!window.admits(address, address + sizeof value) &&
        !platform::readable(reinterpret_cast<const void*>(address), sizeof value)) // NOLINT
        return false;
    value = arch::load_word(address);
    return true;
}

bool evaluate(ByteReader code, const RegisterFile& registers, StackWindow& window, const std::uint64_t* initial,
              std::uint64_t& result) noexcept
{
    return Machine(code, registers, window).run(initial, result);
}

} // namespace heapmark::capture
