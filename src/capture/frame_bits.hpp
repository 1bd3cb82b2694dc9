// SPDX-License-Identifier: BSL-1.0
// How a frame is kept: the return address in the low 48 bits, the module above (heapmark::Frame::bits).
#pragma once

#include "platform/modules.hpp"

#include <cstdint>

namespace heapmark::capture {

inline constexpr std::uint64_t frame_address_mask = 0xffff'ffff'ffff;

inline bool is_frame_address(std::uintptr_t pc) noexcept { return pc != 0 && (pc & ~frame_address_mask) == 0; }

inline std::uint64_t frame_bits(std::uintptr_t pc, const platform::Module* module) noexcept
{
    return pc | (module == nullptr ? 0 : std::uint64_t{module->id} << 48);
}

} // namespace heapmark::capture
