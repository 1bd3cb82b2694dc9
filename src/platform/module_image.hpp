// SPDX-License-Identifier: BSL-1.0
// What a loaded module tells about itself: its path, its build id, where its unwind tables may be read.
// Part of the module registry; no lock, no heap, errno kept.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapmark::platform {

struct Module;

inline constexpr std::size_t path_capacity = 3840; ///< a record and its path fill one page

/// Writes the path of the module mapped at `begin`, which the loader calls `loader_name` (nullptr: the program),
/// into `path_capacity` bytes.
void write_module_path(std::uintptr_t begin, const char* loader_name, char* path) noexcept;

/// Fills in the build id and the segment of the unwind tables from the program headers in memory.
/// Needs begin, end, bias and eh_frame_header; the segment stays null when none holds the tables.
void read_module_image(Module& module, bool is_program) noexcept;

} // namespace heapmark::platform
