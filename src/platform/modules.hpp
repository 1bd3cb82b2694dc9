// SPDX-License-Identifier: BSL-1.0
// The programs and libraries that code addresses belong to, remembered after they are unloaded.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heapmark::platform {

/// One loading of one module. Immortal: stays valid, and keeps its text, after `dlclose`.
struct Module {
    std::uint16_t id;           ///< from 1
    std::uint8_t build_id_size; ///< 0: none
    std::uint8_t build_id[20];
    std::uintptr_t bias;  ///< what to subtract from an address to get the file's virtual address
    std::uintptr_t begin; ///< mapped range [begin, end)
    std::uintptr_t end;
    const char* path;     ///< absolute where the system tells; the vDSO is "[vdso]"
    const void* eh_frame_header;
    std::atomic<bool> loaded; ///< false after dlclose took it away; its addresses may belong to another module now
};

/// The module that holds `pc` now, registered on first sight; nullptr when none does, or when 65,535 have been seen.
/// Lock-free, allocates only pages, async-signal-safe: for the heap path.
const Module* module_at(std::uintptr_t pc) noexcept;

/// The module of a frame; nullptr for 0.
const Module* module_by_id(std::uint16_t id) noexcept;

/// Grows each time a module may have gone: what was cached about addresses before is void.
std::uint32_t unload_epoch() noexcept;

/// To be called by the dlclose override after the real one.
void note_unload() noexcept;

} // namespace heapmark::platform
