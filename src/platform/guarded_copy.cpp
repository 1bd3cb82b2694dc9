// SPDX-License-Identifier: BSL-1.0
// The copy is a loop between two known addresses; the handler of a fault there sends it to its end.
#include "platform/guarded_copy.hpp"

#include "platform/signal_action.hpp"

#include <csignal>
#include <ucontext.h>

extern "C" {
std::size_t heapmark_copy_words(std::uintptr_t* to, std::uintptr_t from, std::size_t words) noexcept;
extern const char heapmark_copy_begin[] __attribute__((visibility("hidden")));
extern const char heapmark_copy_end[] __attribute__((visibility("hidden")));
}

#if defined(__x86_64__)
// rdi: to, rsi: from, rdx: words. rax counts, and is right wherever a load faults.
asm(".text\n"
    ".balign 16\n"
    ".hidden heapmark_copy_words\n"
    ".globl heapmark_copy_words\n"
    ".type heapmark_copy_words, @function\n"
    "heapmark_copy_words:\n"
    ".cfi_startproc\n"
    "xor %eax, %eax\n"
    "test %rdx, %rdx\n"
    "jz heapmark_copy_end\n"
    ".hidden heapmark_copy_begin\n"
    ".globl heapmark_copy_begin\n"
    "heapmark_copy_begin:\n"
    "mov (%rsi,%rax,8), %rcx\n"
    "mov %rcx, (%rdi,%rax,8)\n"
    "inc %rax\n"
    "cmp %rdx, %rax\n"
    "jne heapmark_copy_begin\n"
    ".hidden heapmark_copy_end\n"
    ".globl heapmark_copy_end\n"
    "heapmark_copy_end:\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size heapmark_copy_words, . - heapmark_copy_words\n");
#else
#error "heapmark: guarded_copy is not written for this processor yet"
#endif

namespace heapmark::platform {
namespace {

constinit SignalAction segv_before{};
constinit SignalAction bus_before{};

void on_fault(int signal, void* info, void* context)
{
    auto& pc = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
    const auto begin = reinterpret_cast<greg_t>(heapmark_copy_begin);
    const auto end = reinterpret_cast<greg_t>(heapmark_copy_end);
    if (pc >= begin && pc < end) {
        pc = end;
        return;
    }
    // Another thread's: one that could not be stopped.
    const SignalAction& before = signal == SIGSEGV ? segv_before : bus_before;
    if (!forward_signal(before, signal, info, context)) set_action(signal, before); // and the fault comes again
}

} // namespace

FaultGuard::FaultGuard() noexcept
{
    get_action(SIGSEGV, segv_before);
    get_action(SIGBUS, bus_before);
    // On an alternate stack where there is one, as the handlers it stands for may need.
    const SignalAction action = make_action(on_fault, SA_ONSTACK | SA_NODEFER, 0);
    set_action(SIGSEGV, action);
    set_action(SIGBUS, action);
}

FaultGuard::~FaultGuard()
{
    set_action(SIGSEGV, segv_before);
    set_action(SIGBUS, bus_before);
}

std::size_t guarded_copy(std::uintptr_t* to, std::uintptr_t from, std::size_t words) noexcept
{
    return heapmark_copy_words(to, from, words);
}

} // namespace heapmark::platform
