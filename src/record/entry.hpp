// SPDX-License-Identifier: BSL-1.0
// The 64-bit word that the allocation map keeps for a granule, and what it tells.
#pragma once

#include "base/bits.hpp"

#include <cstddef>
#include <cstdint>

namespace heapmark::record {

inline constexpr unsigned granule_shift = 5; ///< 32 bytes: glibc's smallest chunk
inline constexpr std::size_t granule_bytes = std::size_t{1} << granule_shift;

/// What a granule's word is. From `internal` on, a block that is allocated now starts there.
enum class Kind : std::uint8_t {
    empty = 0,
    extension = 1, ///< second or third word of the block that starts before it: its sizes
    released = 2,  ///< tombstone: the birth of the block that was last freed here
    resizing = 3,  ///< a block inside a realloc call; as alive as the program lets it be
    internal = 7,  ///< heapmark's own; never counted, never listed
    malloc_family = 8,
    new_single = 9,
    new_array = 10,
    new_aligned = 11,
    new_array_aligned = 12,
};

constexpr bool is_live(Kind kind) noexcept { return kind >= Kind::internal; }

/// A birth. Layout, from bit 0:
///   kind 4 | half 1 | inline size 9 | context 24 | ignored 1 | site 25
/// half: the block starts in the upper 16 bytes of the granule. inline size: requested bytes 6, usable bytes / 8 3;
/// all ones (63 bytes requested do not fit 56 usable ones) means "in the extension".
class Entry {
public:
    using KindField = base::Field<0, 4>;
    using HalfField = base::Field<4, 1>;
    using InlineField = base::Field<5, 9>;
    using ContextField = base::Field<14, 24>;
    using IgnoredField = base::Field<38, 1>;
    using SiteField = base::Field<39, 25>;

    static constexpr std::size_t inline_usable_max = 56;

    constexpr Entry() noexcept = default;
    constexpr explicit Entry(std::uint64_t word) noexcept : word_(word) {}
    constexpr Entry(Kind kind, bool half, std::uint32_t context, bool ignored, std::uint32_t site) noexcept
        : word_(KindField::put(static_cast<std::uint64_t>(kind)) | HalfField::put(half ? 1 : 0) |
                ContextField::put(context) | IgnoredField::put(ignored ? 1 : 0) | SiteField::put(site))
    {}

    /// Sizes as the inline field; usable_bytes <= inline_usable_max.
    static constexpr std::uint64_t packed(std::size_t requested_bytes, std::size_t usable_bytes) noexcept
    {
        return requested_bytes | (usable_bytes / 8) << 6;
    }
    /// The same birth with that inline field; all ones: sizes in the extension.
    [[nodiscard]] constexpr Entry with_inline_field(std::uint64_t field) const noexcept
    {
        return Entry(InlineField::replace(word_, field & InlineField::max));
    }

    [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }
    [[nodiscard]] constexpr Kind kind() const noexcept { return static_cast<Kind>(KindField::get(word_)); }
    /// Whether this is a block of that kind that starts in that half.
    [[nodiscard]] constexpr bool is(Kind kind, bool half) const noexcept
    {
        return (word_ & (KindField::mask | HalfField::mask)) ==
               (KindField::put(static_cast<std::uint64_t>(kind)) | HalfField::put(half ? 1 : 0));
    }
    [[nodiscard]] constexpr bool half() const noexcept { return HalfField::get(word_) != 0; }
    [[nodiscard]] constexpr std::uint32_t context() const noexcept
    {
        return static_cast<std::uint32_t>(ContextField::get(word_));
    }
    [[nodiscard]] constexpr bool ignored() const noexcept { return IgnoredField::get(word_) != 0; }
    [[nodiscard]] constexpr std::uint32_t site() const noexcept
    {
        return static_cast<std::uint32_t>(SiteField::get(word_));
    }
    [[nodiscard]] constexpr bool has_extension() const noexcept
    {
        return (word_ & InlineField::mask) == InlineField::mask;
    }
    [[nodiscard]] constexpr std::size_t inline_requested() const noexcept { return InlineField::get(word_) & 63; }
    [[nodiscard]] constexpr std::size_t inline_usable() const noexcept { return (InlineField::get(word_) >> 6) * 8; }
    [[nodiscard]] constexpr Entry with_kind(Kind kind) const noexcept
    {
        return Entry(KindField::replace(word_, static_cast<std::uint64_t>(kind)));
    }
    [[nodiscard]] constexpr Entry with_ignored() const noexcept { return Entry(word_ | IgnoredField::mask); }

    friend constexpr bool operator==(Entry, Entry) noexcept = default;

private:
    std::uint64_t word_ = 0;
};

/// Sizes of a block of more than 56 usable bytes, in the granule after its first: since blocks start at multiples of
/// 16, the next one cannot start in it.
///   kind 4 | requested 48 | slack 12; slack all ones: usable is in one more word of the same shape.
class Extension {
public:
    using KindField = base::Field<0, 4>;
    using SizeField = base::Field<4, 48>;
    using SlackField = base::Field<52, 12>;

    static constexpr std::uint64_t word(std::size_t size, std::size_t slack) noexcept
    {
        return KindField::put(static_cast<std::uint64_t>(Kind::extension)) | SizeField::put(size) |
               SlackField::put(slack);
    }
    static constexpr std::size_t size(std::uint64_t word) noexcept { return SizeField::get(word); }
    static constexpr std::size_t slack(std::uint64_t word) noexcept { return SlackField::get(word); }
    static constexpr std::size_t slack_in_next = SlackField::max;
};

struct Sizes {
    std::size_t requested_bytes = 0;
    std::size_t usable_bytes = 0;
};

} // namespace heapmark::record
