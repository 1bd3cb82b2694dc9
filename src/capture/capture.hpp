// SPDX-License-Identifier: BSL-1.0
// Turns "here" into return addresses, through code built without frame pointers.
// Runs inside every malloc: no lock, no allocation, no dl_iterate_phdr, never a fault on a broken stack.
#pragma once

#include "platform/thread_state.hpp"

#include <cstddef>
#include <cstdint>

namespace heapmark::capture {

inline constexpr unsigned max_depth_frames = 32;

/// What the unwinder needs of the function that called an overridden one, right after its call instruction returned.
struct Caller {
    std::uintptr_t pc; ///< return address into it
    std::uintptr_t sp; ///< its stack pointer after the return
    std::uintptr_t fp; ///< its rbp (x29): the callee-saved frame register
};

/// Address of the frame of the function that this is written in, which keeps a frame pointer for it.
#define HEAPMARK_FRAME() __builtin_frame_address(0)

/// The caller of the function of that frame, which must still be running: one word is cheaper to hand on than three.
inline Caller caller_of(const void* frame) noexcept
{
    // On x86-64 and aarch64 alike: the saved frame register, then the return address.
    const auto* saved = static_cast<const std::uintptr_t*>(frame);
    return {saved[1], reinterpret_cast<std::uintptr_t>(frame) + 2 * sizeof(void*), saved[0]};
}

/// Bytes of a RuleCache; it is made by zeroing them.
extern const std::size_t rule_cache_bytes;

/// Writes up to `max_frames` frames (heapmark::Frame::bits: address | module << 48), innermost first, the first being
/// `caller.pc` itself, and returns how many. `cache` may be nullptr (slower, same answer); `stack` may be unknown
/// (slower: pages are probed before they are read). Keeps errno. Async-signal-safe.
unsigned capture_stack(const Caller& caller, const platform::StackBounds& stack, RuleCache* cache,
                       std::uint64_t* frames, unsigned max_frames) noexcept;

} // namespace heapmark::capture
