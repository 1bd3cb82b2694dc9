// SPDX-License-Identifier: BSL-1.0
// Signal handlers set by raw system calls: for handlers that live during one search only and that no override of
// sigaction, nor the C library's reservation of two signals for itself, may refuse.
#pragma once

#include <cstdint>

namespace heapmark::platform {

/// struct kernel_sigaction of Linux (include/linux/signal_types.h).
struct SignalAction {
    void* handler = nullptr; ///< SIG_DFL is nullptr, SIG_IGN 1
    unsigned long flags = 0;
    void (*restorer)() = nullptr;
    std::uint64_t mask = 0; ///< blocked while the handler runs; bit signal - 1
};

using SignalHandler = void(int signal, void* info, void* context); ///< siginfo_t, ucontext_t

/// An action that calls the handler with SA_SIGINFO, and `flags` besides.
SignalAction make_action(SignalHandler* handler, unsigned long flags, std::uint64_t mask) noexcept;

bool get_action(int signal, SignalAction& action) noexcept;
bool set_action(int signal, const SignalAction& action) noexcept;

/// Does what `action` says with a signal that came to another handler in its place. Default actions are not taken.
/// True when there was a handler.
bool forward_signal(const SignalAction& action, int signal, void* info, void* context) noexcept;

} // namespace heapmark::platform
