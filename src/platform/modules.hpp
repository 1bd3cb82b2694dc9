// SPDX-License-Identifier: BSL-1.0
// The programs and libraries that code addresses belong to, remembered after they are unloaded.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heapmark::platform {

/// One loading of one module. Immortal: stays valid, and keeps its text, after `dlclose`.
/// The same file loaded again at the same place is the same Module.
struct Module {
    std::uint16_t id;           ///< from 1, without gaps
    std::uint8_t build_id_size; ///< 0: none
    std::uint8_t build_id[20];
    std::uintptr_t bias;  ///< what to subtract from an address to get the file's virtual address
    std::uintptr_t begin; ///< mapped range [begin, end)
    std::uintptr_t end;
    const char* path; ///< absolute where the system tells; the vDSO is "[vdso]"

    /// .eh_frame_hdr, and the loaded segment that holds it and .eh_frame: only that may be read when they are decoded,
    /// and only while the module is loaded. All nullptr when there are no such tables.
    const std::uint8_t* eh_frame_header;
    const std::uint8_t* tables_begin;
    const std::uint8_t* tables_end;

    /// The loader's own description and a hash of its name for the file: with the range they tell cheaply whether this
    /// is still what is loaded there.
    std::atomic<const void*> loader_record;
    std::uint64_t loader_name_hash;
    std::atomic<bool> loaded; ///< false after dlclose took it away; its addresses may belong to another module now
};

/// The module that holds `pc` now, registered on first sight; nullptr when none does, or when 65,535 have been seen.
/// Lock-free, allocates only pages, async-signal-safe, keeps errno: for the heap path.
const Module* module_at(std::uintptr_t pc) noexcept;

/// The module of a frame; nullptr for 0 and for ids not given out yet.
const Module* module_by_id(std::uint16_t id) noexcept;

extern constinit std::atomic<std::uint32_t> current_unload_epoch;

/// Grows each time a module may have gone: what was cached about addresses before is void.
inline std::uint32_t unload_epoch() noexcept { return current_unload_epoch.load(std::memory_order_acquire); }

/// To be called by the dlclose override after the real one. Modules that libc unloads by itself (iconv, NSS) are
/// noticed here too, or else when another module is seen in their place.
void note_unload() noexcept;

} // namespace heapmark::platform
