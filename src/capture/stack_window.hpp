// SPDX-License-Identifier: BSL-1.0
// The stack memory that a walk may read: the part of the thread's own stack above where the walk began, or, on any
// other stack (fiber, alternate signal stack, clone), the pages that have been probed.
#pragma once

#include "platform/thread_state.hpp"

#include <cstdint>

namespace heapmark::capture {

class StackWindow {
public:
    explicit StackWindow(const platform::StackBounds& thread_stack) noexcept : thread_stack_(thread_stack) {}

    /// Begins on the stack that `sp` points into. Everything from a live stack pointer up is mapped.
    void enter(std::uintptr_t sp) noexcept
    {
        on_thread_stack_ = sp - thread_stack_.low < thread_stack_.high - thread_stack_.low;
        low = sp;
        high = on_thread_stack_ ? thread_stack_.high : sp;
    }

    /// Whether [first, last) may be read. `first` < `last`.
    [[nodiscard]] bool admits(std::uintptr_t first, std::uintptr_t last) noexcept
    {
        return (first >= low && last <= high) || admit(first, last);
    }

    /// What admits() does off the window: probes, and moves the window where the stack's end is not known.
    [[gnu::cold, gnu::noinline, nodiscard]] bool admit(std::uintptr_t first, std::uintptr_t last) noexcept;

    /// Addresses [low, high) are readable.
    std::uintptr_t low = 0;
    std::uintptr_t high = 0;

private:
    platform::StackBounds thread_stack_;
    bool on_thread_stack_ = false;
};

} // namespace heapmark::capture
