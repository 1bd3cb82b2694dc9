// SPDX-License-Identifier: BSL-1.0
// Reads the encodings of DWARF from a byte range, never outside it: these are bytes that we did not write.
// After a read that does not fit, ok() is false and everything reads as zero.
// Sources: DWARF 5 sections 6.4, 7.6; LSB 5.0 core, section 10.5 (pointer encodings).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace heapmark::base {

/// DW_EH_PE_*: low four bits the format, the next three what it is relative to.
struct PointerEncoding {
    static constexpr std::uint8_t absolute = 0x00;
    static constexpr std::uint8_t uleb128 = 0x01;
    static constexpr std::uint8_t udata2 = 0x02;
    static constexpr std::uint8_t udata4 = 0x03;
    static constexpr std::uint8_t udata8 = 0x04;
    static constexpr std::uint8_t sleb128 = 0x09;
    static constexpr std::uint8_t sdata2 = 0x0a;
    static constexpr std::uint8_t sdata4 = 0x0b;
    static constexpr std::uint8_t sdata8 = 0x0c;
    static constexpr std::uint8_t format_mask = 0x0f;

    static constexpr std::uint8_t pc_relative = 0x10;
    static constexpr std::uint8_t data_relative = 0x30;
    static constexpr std::uint8_t aligned = 0x50;
    static constexpr std::uint8_t base_mask = 0x70;

    static constexpr std::uint8_t indirect = 0x80;
    static constexpr std::uint8_t omitted = 0xff;
};

class ByteReader {
public:
    ByteReader() noexcept = default;
    ByteReader(const std::uint8_t* begin, const std::uint8_t* end) noexcept : at_(begin), end_(end) {}

    [[nodiscard]] bool ok() const noexcept { return ok_; }
    [[nodiscard]] bool at_end() const noexcept { return at_ == end_; }
    [[nodiscard]] const std::uint8_t* position() const noexcept { return at_; }
    [[nodiscard]] std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }

    template <class Integer>
    Integer fixed() noexcept
    {
        Integer value{};
        if (left() < sizeof value) {
            fail();
            return value;
        }
        std::memcpy(&value, at_, sizeof value);
        at_ += sizeof value;
        return value;
    }

    std::uint8_t byte() noexcept { return fixed<std::uint8_t>(); }

    void skip(std::uint64_t bytes) noexcept
    {
        if (bytes > left())
            fail();
        else
            at_ += bytes;
    }

    /// A reader of the next `bytes` bytes, which this one then stands behind.
    ByteReader part(std::uint64_t bytes) noexcept
    {
        const std::uint8_t* begin = at_;
        skip(bytes);
        return ok_ ? ByteReader(begin, at_) : ByteReader();
    }

    std::uint64_t uleb() noexcept
    {
        unsigned shift = 0;
        std::uint8_t last;
        return leb(shift, last);
    }

    std::int64_t sleb() noexcept
    {
        unsigned shift = 0;
        std::uint8_t last;
        std::uint64_t value = leb(shift, last);
        if ((last & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
        return static_cast<std::int64_t>(value);
    }

    /// A pointer in any encoding but the indirect ones, which never stand for code in the tables that we read.
    std::uintptr_t pointer(std::uint8_t encoding, std::uintptr_t data_base) noexcept
    {
        using E = PointerEncoding;
        if (encoding == E::omitted || (encoding & E::indirect) != 0) return fail();
        const auto here = reinterpret_cast<std::uintptr_t>(at_);
        std::uintptr_t base = 0;
        switch (encoding & E::base_mask) {
        case 0: break;
        case E::pc_relative: base = here; break;
        case E::data_relative: base = data_base; break;
        case E::aligned: skip((~here + 1) & (sizeof(void*) - 1)); break;
        default: return fail();
        }
        const std::uintptr_t value = number(encoding);
        return ok_ ? base + value : 0;
    }

    /// The number part of an encoded pointer: lengths are stored so.
    std::uintptr_t number(std::uint8_t encoding) noexcept
    {
        using E = PointerEncoding;
        switch (encoding & E::format_mask) {
        case E::absolute: return fixed<std::uintptr_t>();
        case E::uleb128: return uleb();
        case E::udata2: return fixed<std::uint16_t>();
        case E::udata4: return fixed<std::uint32_t>();
        case E::udata8: return fixed<std::uint64_t>();
        case E::sleb128: return static_cast<std::uintptr_t>(sleb());
        case E::sdata2: return static_cast<std::uintptr_t>(std::intptr_t{fixed<std::int16_t>()});
        case E::sdata4: return static_cast<std::uintptr_t>(std::intptr_t{fixed<std::int32_t>()});
        case E::sdata8: return static_cast<std::uintptr_t>(fixed<std::int64_t>());
        default: return fail();
        }
    }

private:
    std::uintptr_t fail() noexcept
    {
        ok_ = false;
        at_ = end_;
        return 0;
    }

    std::uint64_t leb(unsigned& shift, std::uint8_t& last) noexcept
    {
        std::uint64_t value = 0;
        do {
            last = byte();
            if (shift < 64) value |= std::uint64_t{last & 0x7fU} << shift;
            if (shift < 64) shift += 7;
        } while ((last & 0x80) != 0); // ends at the end of the range, where bytes read as zero
        return value;
    }

    const std::uint8_t* at_ = nullptr;
    const std::uint8_t* end_ = nullptr;
    bool ok_ = true;
};

} // namespace heapmark::base
