// SPDX-License-Identifier: BSL-1.0
// The probing half of StackWindow.
#include "capture/stack_window.hpp"

#include "platform/safe_read.hpp"

namespace heapmark::capture {

bool StackWindow::admit(std::uintptr_t first, std::uintptr_t last) noexcept
{
    constexpr std::uintptr_t page_bytes = 4096;
    // Rules keep what they save close together; a wide range comes from a broken frame.
    if (first >= last || last - first > page_bytes) return false;
    if (on_thread_stack_) {
        // Above the stack: never. Below where the walk began (a slot that an epilogue has just left): if it is there.
        if (first < thread_stack_.low || last > thread_stack_.high) return false;
        return platform::readable(reinterpret_cast<const void*>(first), last - first); // NOLINT
    }
    const std::uintptr_t first_page = first & ~(page_bytes - 1);
    const std::uintptr_t last_page = (last - 1) & ~(page_bytes - 1);
    for (std::uintptr_t page = first_page;; page += page_bytes) {
        const bool known = page >= low && page < high && high - page >= page_bytes;
        if (!known && !platform::readable(reinterpret_cast<const void*>(page), 1)) return false; // NOLINT
        if (page == last_page) break;
    }
    if (first_page < low || first_page > high) low = first_page;
    high = last_page + page_bytes;
    return true;
}

} // namespace heapmark::capture
