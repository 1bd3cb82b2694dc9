// SPDX-License-Identifier: BSL-1.0
// Everything the capture room knows about x86-64: register numbers, what a call leaves on the stack, how to take the
// registers. Another processor gets a file like this one.
// Source: System V ABI, AMD64 supplement, sections 3.2 (stack frame), 3.6.2 (DWARF register numbers).
#pragma once

#include <cstdint>

namespace heapmark::capture::arch {

inline constexpr unsigned register_count = 17; ///< rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8..r15, return address
inline constexpr unsigned frame_register = 6;  ///< rbp
inline constexpr unsigned stack_register = 7;  ///< rsp
inline constexpr unsigned return_register = 16;

/// The call instruction pushes the return address, so it always lies right below the canonical frame address.
inline constexpr int return_address_offset = -8;

/// Registers that a called function keeps: rbx, rbp, rsp, r12..r15. Known in every frame unless a rule says otherwise.
inline constexpr std::uint32_t kept_registers = 1U << 3 | 1U << 6 | 1U << 7 | 0xfU << 12;

/// Where a signal frame keeps the interrupted rbp, rsp and rip, from the stack pointer in the return trampoline:
/// struct ucontext of Linux (arch/x86/include/uapi/asm/sigcontext.h). Taken only where the unwind rules agree.
inline constexpr int signal_frame_fp_offset = 120;
inline constexpr int signal_frame_sp_offset = 160;
inline constexpr int signal_frame_pc_offset = 168;

/// Reads another frame's stack word. As an instruction of our own, so that no sanitizer takes it for an access to a
/// local variable's surroundings. Volatile: it must stay behind the check of the address.
inline std::uintptr_t load_word(std::uintptr_t address) noexcept
{
    std::uintptr_t value;
    asm volatile("mov %1, %0" : "=r"(value) : "m"(*reinterpret_cast<const std::uintptr_t*>(address))); // NOLINT
    return value;
}

/// The kept registers and the address right behind the taking, all as of one instruction.
[[gnu::always_inline]] inline void take_registers(std::uint64_t* values) noexcept
{
    asm volatile("mov %%rbx, 24(%0)\n\t"
                 "mov %%rbp, 48(%0)\n\t"
                 "mov %%rsp, 56(%0)\n\t"
                 "mov %%r12, 96(%0)\n\t"
                 "mov %%r13, 104(%0)\n\t"
                 "mov %%r14, 112(%0)\n\t"
                 "mov %%r15, 120(%0)\n\t"
                 "lea 0f(%%rip), %%rcx\n"
                 "0:\tmov %%rcx, 128(%0)\n\t"
                 :
                 : "r"(values)
                 : "rcx", "memory");
}

} // namespace heapmark::capture::arch
