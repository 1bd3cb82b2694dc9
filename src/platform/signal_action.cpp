// SPDX-License-Identifier: BSL-1.0
#include "platform/signal_action.hpp"

#include "platform/raw_syscall.hpp"

#include <csignal>
#include <sys/syscall.h>

#if defined(__x86_64__)
// What the kernel returns to when a handler is done. Debuggers and unwinders know a signal frame by these very bytes.
asm(".text\n"
    ".balign 16\n"
    ".hidden heapmark_signal_return\n"
    ".globl heapmark_signal_return\n"
    ".type heapmark_signal_return, @function\n"
    "nop\n" // unwinders look at the byte before a return address
    "heapmark_signal_return:\n"
    "mov $15, %rax\n" // SYS_rt_sigreturn
    "syscall\n"
    ".size heapmark_signal_return, . - heapmark_signal_return\n");
extern "C" void heapmark_signal_return();
#endif

namespace heapmark::platform {
namespace {

constexpr long kernel_sigset_bytes = 8;
[[maybe_unused]] constexpr unsigned long has_restorer = 0x04000000; // SA_RESTORER

} // namespace

SignalAction make_action(SignalHandler* handler, unsigned long flags, std::uint64_t mask) noexcept
{
    SignalAction action;
    action.handler = reinterpret_cast<void*>(handler);
    action.flags = flags | SA_SIGINFO;
    action.mask = mask;
#if defined(__x86_64__)
    action.flags |= has_restorer;
    action.restorer = heapmark_signal_return;
#endif
    return action;
}

bool get_action(int signal, SignalAction& action) noexcept
{
    return raw_syscall(SYS_rt_sigaction, signal, 0, reinterpret_cast<long>(&action), kernel_sigset_bytes) == 0;
}

bool set_action(int signal, const SignalAction& action) noexcept
{
    return raw_syscall(SYS_rt_sigaction, signal, reinterpret_cast<long>(&action), 0, kernel_sigset_bytes) == 0;
}

bool forward_signal(const SignalAction& action, int signal, void* info, void* context) noexcept
{
    const auto address = reinterpret_cast<std::uintptr_t>(action.handler);
    if (address <= 1) return false; // SIG_DFL, SIG_IGN
    if ((action.flags & SA_SIGINFO) != 0)
        reinterpret_cast<SignalHandler*>(action.handler)(signal, info, context);
    else
        reinterpret_cast<void (*)(int)>(action.handler)(signal);
    return true;
}

} // namespace heapmark::platform
