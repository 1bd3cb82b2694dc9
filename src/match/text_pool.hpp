// SPDX-License-Identifier: BSL-1.0
// The texts of records whose blocks are alive. Pieces of one size, used again at once, so that memory follows what is
// alive and not what was read.
#pragma once

#include "match/zeroed_array.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heapmark::match {

class TextPool {
public:
    using Id = std::uint32_t; ///< 0: none

    /// Throws std::length_error beyond two thousand million pieces.
    Id keep(std::string_view text);
    void drop(Id id);
    /// Into `text`, in place of what it was.
    void read(Id id, std::string& text) const;
    /// To be called some texts before read().
    void prefetch(Id id) const noexcept { __builtin_prefetch(&piece(id)); }

private:
    /// In the id of the first piece: there are more. So a text of one piece is dropped without a look at it, which would
    /// be a cache miss.
    static constexpr Id has_more = Id{1} << 31;
    static constexpr unsigned chunk_bits = 16; ///< two huge pages

    struct Piece {
        Id next;
        std::uint8_t size;
        char bytes[59];
    };
    static_assert(sizeof(Piece) == 64, "one cache line");

    [[nodiscard]] Piece& piece(Id id) const noexcept
    {
        return chunks_[(id & ~has_more) >> chunk_bits][id & ((Id{1} << chunk_bits) - 1)];
    }
    Id take();
    void give_back(Id id);

    std::vector<ZeroedArray<Piece>> chunks_;
    /// Dropped last, on their way to the cache: what is used again was dropped some time ago, and is there.
    std::array<Id, 16> resting_{};
    std::size_t oldest_resting_ = 0;
    std::vector<Id> free_;
    Id used_ = 1;
};

} // namespace heapmark::match
