// SPDX-License-Identifier: BSL-1.0
// Tells whether a file is still the one that a module was loaded from.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapmark::symbolise {

struct BuildId {
    std::size_t size = 0; ///< 0: the file has none
    std::uint8_t bytes[20] = {};
};

/// Reads the GNU build-id note of an ELF file of this machine's class. Returns false when the file cannot be read or
/// is no such file; true with size 0 when it has no build-id. Keeps at most the first 20 bytes of longer ones.
[[nodiscard]] bool read_build_id(const char* path, BuildId& id) noexcept;

} // namespace heapmark::symbolise
