// SPDX-License-Identifier: BSL-1.0
// The hash of a stack's frames, made so that a stack that grows or shrinks at its inner end need not be hashed anew.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace heapmark::base {

/// The polynomial  f0 + f1 x + f2 x^2 ...  modulo 2^64, f0 being the innermost frame. Its low bits are weak: mix64 it.
/// Told from the outside in (Horner's rule), so one more inner frame extends it; a difference cuts outer frames off.
struct FramesHash {
    static constexpr std::uint64_t x = 0x9fb2'1c65'1e98'df25U;
    static constexpr unsigned max_frames = 64;

    static constexpr std::array<std::uint64_t, max_frames + 1> powers = [] {
        std::array<std::uint64_t, max_frames + 1> table{1};
        for (unsigned i = 1; i <= max_frames; ++i) table[i] = table[i - 1] * x;
        return table;
    }();

    /// Of `frame` and the frames outside it, whose hash is `outer`.
    static constexpr std::uint64_t extend(std::uint64_t frame, std::uint64_t outer) noexcept
    {
        return frame + x * outer;
    }

    /// Of the innermost `count` frames of a stack hashed as `whole`, when the frames outside them hash as `outer`.
    static constexpr std::uint64_t cut(std::uint64_t whole, std::uint64_t outer, unsigned count) noexcept
    {
        return whole - powers[count] * outer;
    }

    static constexpr std::uint64_t of(std::span<const std::uint64_t> frames) noexcept
    {
        std::uint64_t hash = 0;
        for (std::size_t i = frames.size(); i-- > 0;) hash = extend(frames[i], hash);
        return hash;
    }
};

} // namespace heapmark::base
