// SPDX-License-Identifier: BSL-1.0
// The decoders on bytes written by hand, with answers worked out from the DWARF standard.
#include "capture/cfi.hpp"
#include "capture/expression.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <vector>

using namespace heapmark::capture;

namespace {

using Bytes = std::vector<std::uint8_t>;

ByteReader read(const Bytes& bytes) { return {bytes.data(), bytes.data() + bytes.size()}; }

constexpr std::uintptr_t code_begin = 0x1000;

/// The row at code_begin + offset, under the common part every x86-64 compiler writes.
struct Rows {
    explicit Rows(Bytes instructions) : code(std::move(instructions)) {}

    bool at(std::uintptr_t offset, Row& row) const
    {
        FrameDescription description{};
        description.begin = code_begin;
        description.end = code_begin + 0x1000;
        description.common_instructions = read(common);
        description.instructions = read(code);
        description.code_alignment = 1;
        description.data_alignment = -8;
        description.return_register = 16;
        description.pointer_encoding = PointerEncoding::udata4;
        return find_row(description, code_begin + offset, row);
    }

    Bytes common{0x0c, 7, 8, 0x80 | 16, 1}; // frame address rsp + 8; return address at -8
    Bytes code;
};

bool value_of(const Bytes& code, std::uint64_t& result)
{
    static const std::uint64_t memory[2] = {111, 222};
    RegisterFile registers{};
    registers.set(7, 1000);
    registers.set(6, reinterpret_cast<std::uintptr_t>(memory));
    StackWindow window({});
    return evaluate(read(code), registers, window, nullptr, result);
}

std::uint64_t value_of(const Bytes& code)
{
    std::uint64_t result = 0;
    REQUIRE(value_of(code, result));
    return result;
}

} // namespace

TEST_CASE("numbers of variable length: the standard's examples")
{
    CHECK(read({2}).uleb() == 2);
    CHECK(read({127}).uleb() == 127);
    CHECK(read({0x80, 1}).uleb() == 128);
    CHECK(read({0xe5, 0x8e, 0x26}).uleb() == 624485);
    CHECK(read({2}).sleb() == 2);
    CHECK(read({0x7e}).sleb() == -2);
    CHECK(read({0xff, 0}).sleb() == 127);
    CHECK(read({0x81, 0x7f}).sleb() == -127);
    CHECK(read({0x80, 0x7f}).sleb() == -128);
    CHECK(read({0xc0, 0xbb, 0x78}).sleb() == -123456);
    // Ten bytes hold 64 bits; more are read and their bits dropped.
    CHECK(read({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}).uleb() == ~std::uint64_t{0});
    CHECK(read({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}).uleb() == 0);

    const Bytes unfinished_bytes{0x80, 0x80};
    ByteReader unfinished = read(unfinished_bytes);
    unfinished.uleb();
    CHECK_FALSE(unfinished.ok());
}

TEST_CASE("encoded pointers")
{
    const Bytes bytes{0xfc, 0xff, 0xff, 0xff, 1, 2, 3, 4, 5, 6, 7, 8};
    const auto here = reinterpret_cast<std::uintptr_t>(bytes.data());
    using E = PointerEncoding;
    CHECK(read(bytes).pointer(E::udata4, 0) == 0xfffffffc);
    CHECK(read(bytes).pointer(E::sdata4, 0) == ~std::uintptr_t{3});
    CHECK(read(bytes).pointer(E::sdata2, 0) == ~std::uintptr_t{3});
    CHECK(read(bytes).pointer(E::udata2, 0) == 0xfffc);
    CHECK(read(bytes).pointer(E::sdata4 | E::pc_relative, 0) == here - 4);
    CHECK(read(bytes).pointer(E::sdata4 | E::data_relative, 1000) == 996);
    CHECK(read(bytes).pointer(E::absolute, 0) == 0x04030201fffffffc);
    CHECK(read(bytes).pointer(E::uleb128, 0) == 0x1ffffffc);
    for (const std::uint8_t encoding :
         {E::omitted, std::uint8_t{E::udata4 | E::indirect}, std::uint8_t{0x60}, std::uint8_t{0x05}}) {
        CAPTURE(encoding);
        ByteReader reader = read(bytes);
        reader.pointer(encoding, 0);
        CHECK_FALSE(reader.ok());
    }
}

TEST_CASE("a prologue and an epilogue")
{
    // push rbp at 1; mov rsp, rbp at 4; remembered before the early return at 0x20.
    const Rows rows({0x41, 0x0e, 16, 0x86, 2,      // after 1: offset 16, rbp at -16
                     0x43, 0x0d, 6,                // after 4: register rbp
                     0x02, 0x1c, 0x0a, 0x0c, 7, 8, // after 0x20: remember; rsp + 8
                     0xc6,                         // and rbp as at the start
                     0x41, 0x0b});                 // after 0x21: as remembered
    Row row;
    REQUIRE(rows.at(0, row));
    CHECK(row.frame_register == 7);
    CHECK(row.frame_operand == 8);
    CHECK(row.rules[6] == RegisterRule::unspecified);
    CHECK(row.rules[16] == RegisterRule::saved_at);
    CHECK(static_cast<std::int64_t>(row.operands[16]) == -8);
    CHECK(row.end == code_begin + 1);
    REQUIRE(rows.at(1, row));
    CHECK(row.frame_operand == 16);
    CHECK(row.rules[6] == RegisterRule::saved_at);
    CHECK(static_cast<std::int64_t>(row.operands[6]) == -16);
    CHECK(row.end == code_begin + 4);
    REQUIRE(rows.at(0x1f, row));
    CHECK(row.frame_register == 6);
    CHECK(row.frame_operand == 16);
    REQUIRE(rows.at(0x20, row));
    CHECK(row.frame_register == 7);
    CHECK(row.frame_operand == 8);
    CHECK(row.rules[6] == RegisterRule::unspecified);
    REQUIRE(rows.at(0x900, row));
    CHECK(row.frame_register == 6);
    CHECK(row.rules[6] == RegisterRule::saved_at);
    CHECK(row.end == code_begin + 0x1000);
}

TEST_CASE("the less common instructions")
{
    Row row;
    REQUIRE(Rows({0x07, 16, 0x08, 3, 0x09, 12, 13, 0x14, 14, 2, 0x15, 15, 0x7e}).at(0, row));
    CHECK(row.rules[16] == RegisterRule::undefined);
    CHECK(row.rules[3] == RegisterRule::same);
    CHECK(row.rules[12] == RegisterRule::in_register);
    CHECK(row.operands[12] == 13);
    CHECK(row.rules[14] == RegisterRule::value_is);
    CHECK(static_cast<std::int64_t>(row.operands[14]) == -16);
    CHECK(static_cast<std::int64_t>(row.operands[15]) == 16);

    REQUIRE(Rows({0x05, 3, 2, 0x11, 12, 0x7f, 0x2f, 13, 3, 0x2e, 9, 0x00}).at(0, row));
    CHECK(static_cast<std::int64_t>(row.operands[3]) == -16);
    CHECK(static_cast<std::int64_t>(row.operands[12]) == 8);
    CHECK(static_cast<std::int64_t>(row.operands[13]) == 24);

    REQUIRE(Rows({0x12, 6, 0x7e, 0x13, 0x7d}).at(0, row));
    CHECK(row.frame_register == 6);
    CHECK(row.frame_operand == 24);

    const Rows expressions({0x0f, 2, 0x77, 8, 0x10, 6, 2, 0x76, 0, 0x16, 3, 1, 0x31});
    REQUIRE(expressions.at(0, row));
    CHECK(row.frame_is_expression);
    CHECK(row.rules[6] == RegisterRule::saved_at_expression);
    CHECK(row.rules[3] == RegisterRule::value_is_expression);
    const UnwindTables tables{nullptr, expressions.code.data(), expressions.code.data() + expressions.code.size()};
    ByteReader expression = expression_at(tables, row.frame_operand);
    CHECK(expression.left() == 2);
    CHECK(expression.byte() == 0x77);

    // Vector registers are stepped over; longer advances and absolute locations count.
    REQUIRE(
        Rows({0x05, 20, 2, 0x03, 0x00, 0x01, 0x0e, 32, 0x04, 0, 2, 0, 0, 0x0e, 48, 0x01, 0x00, 0x18, 0, 0, 0x0e, 64})
            .at(0x300, row));
    CHECK(row.frame_operand == 48);
    REQUIRE(Rows({0x01, 0x00, 0x18, 0, 0, 0x0e, 64}).at(0x800, row));
    CHECK(row.frame_operand == 64);
}

TEST_CASE("instructions that cannot be right are refused")
{
    Row row;
    for (const Bytes& bad : {Bytes{0x0b}, Bytes{0x0e}, Bytes{0x0c, 7}, Bytes{0x1d}, Bytes{0x3f}, Bytes{0x0f, 50, 1},
                             Bytes{0x03, 1}, Bytes(100, 0x0a)}) {
        CAPTURE(bad[0]);
        CHECK_FALSE(Rows(bad).at(0x10, row));
    }
}

TEST_CASE("expressions")
{
    CHECK(value_of({0x77, 8}) == 1008);                             // rsp + 8
    CHECK(value_of({0x76, 8, 0x06}) == 222);                        // the word at rbp + 8
    CHECK(value_of({0x76, 0, 0x94, 1}) == 111);                     // its lowest byte
    CHECK(value_of({0x92, 7, 0x78}) == 992);                        // bregx rsp - 8
    CHECK(value_of({0x35, 0x32, 0x1c}) == 3);                       // 5 - 2
    CHECK(value_of({0x35, 0x32, 0x16, 0x1c}) == ~std::uint64_t{2}); // swapped
    CHECK(value_of({0x31, 0x32, 0x33, 0x17, 0x1c, 0x1c}) == 4);     // 1 2 3 turned to 3 1 2; 3 - (1 - 2)
    CHECK(value_of({0x31, 0x36, 0x24}) == 64);                      // 1 << 6
    CHECK(value_of({0x09, 0xf8, 0x32, 0x26}) == ~std::uint64_t{1}); // -8 >> 2, arithmetically
    CHECK(value_of({0x09, 0xf7, 0x32, 0x1b}) == ~std::uint64_t{3}); // -9 / 2
    CHECK(value_of({0x39, 0x34, 0x1d}) == 1);                       // 9 % 4
    CHECK(value_of({0x32, 0x31, 0x2b}) == 1);                       // 2 > 1
    CHECK(value_of({0x31, 0x28, 1, 0, 0x30, 0x37}) == 7);           // a branch over one byte
    CHECK(value_of({0x35, 0x23, 0x80, 1}) == 133);                  // 5 + 128
    std::uint64_t result = 0;
    for (const Bytes& bad : {Bytes{}, Bytes{0x06}, Bytes{0x30, 0x06}, Bytes{0x31, 0x30, 0x1b}, Bytes{0x73, 0},
                             Bytes{0x2f, 0xfd, 0xff}, Bytes{0x2f, 9, 0}, Bytes{0xff}, Bytes(17, 0x31)}) {
        CAPTURE(bad.size());
        CHECK_FALSE(value_of(bad, result));
    }
    // How linkers describe the entries of the procedure linkage table: rsp + 8 + ((rip & 15) >= 11) * 8.
    const Bytes linkage_table_entry{0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    for (const std::uint64_t pc : {0x1000U, 0x100aU, 0x100bU, 0x100fU}) {
        RegisterFile registers{};
        registers.set(7, 5000);
        registers.set(16, pc);
        StackWindow window({});
        REQUIRE(evaluate(read(linkage_table_entry), registers, window, nullptr, result));
        CHECK(result == (pc % 16 >= 11 ? 5016 : 5008));
    }
}
