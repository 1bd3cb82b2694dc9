// SPDX-License-Identifier: BSL-1.0
// Invented blocks and threads for tests of the record: addresses that nothing is mapped at, states of no real thread.
#pragma once

#include "record/contexts.hpp"
#include "record/recorder.hpp"
#include "record/threads.hpp"

#include <cstdint>

namespace invented {

using namespace heapmark;

inline void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); } // NOLINT: invented

/// A leaf of addresses that no other test uses.
inline std::uintptr_t fresh_leaf()
{
    static std::uintptr_t next = std::uintptr_t{0x1000} << record::leaf_shift;
    const std::uintptr_t address = next;
    next += std::uintptr_t{4} << record::leaf_shift; // gaps, so that neighbours do not help each other
    return address;
}

/// The state of a thread that was seen, and has no context yet.
inline platform::ThreadState thread(std::uint32_t parent = 0)
{
    platform::ThreadState state{};
    state.thread = record::add_thread(parent, record::clock.generation());
    state.phase = heapmark::platform::ThreadState::Phase::in_use;
    return state;
}

inline record::Totals totals(std::uint32_t since) { return record::totals_since(since); }

} // namespace invented
