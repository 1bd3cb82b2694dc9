// SPDX-License-Identifier: BSL-1.0
// Names of generations and tags, each distinct text kept once for ever under a small id. Lock-free.
#pragma once

#include <cstdint>
#include <string_view>

namespace heapmark::record {

using TextId = std::uint32_t;
inline constexpr TextId no_text = 0;
inline constexpr unsigned text_id_bits = 20;
inline constexpr TextId max_text = (TextId{1} << text_id_bits) - 1;

/// Id of an equal text, kept if need be; no_text for an empty one, or when ids or memory ran out.
/// Cost: one hash and a short chain.
TextId intern_text(std::string_view text) noexcept;

/// The text of an id, "" for no_text. Ends with a zero byte. Valid until the process ends.
std::string_view text(TextId id) noexcept;

} // namespace heapmark::record
