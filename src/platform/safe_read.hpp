// SPDX-License-Identifier: BSL-1.0
// Reading memory that may not be there, without signal handlers and without the calls that containers refuse.
// A page that another thread unmaps between the probe and the read still faults: for stacks and tables that stay.
#pragma once

#include <cstddef>

namespace heapmark::platform {

/// Whether every byte of [address, address + bytes) can be read now. One system call a page. Keeps errno.
[[nodiscard]] bool readable(const void* address, std::size_t bytes) noexcept;

/// Copies `bytes` when they are readable; `to` is untouched otherwise.
[[nodiscard]] bool safe_read(const void* from, void* to, std::size_t bytes) noexcept;

} // namespace heapmark::platform
