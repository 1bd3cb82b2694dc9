// SPDX-License-Identifier: BSL-1.0
// The signal is one that the C library keeps for itself (33, "SIGSETXID" in glibc's nptl): programs cannot block it with
// sigprocmask or pthread_sigmask, which leave it out of every set, and debuggers pass it on without a word. glibc sends it
// with tgkill, heapmark with a value of its own, so that each can be told from the other, and the other's are passed on.
// Where queueing values is refused (a seccomp filter), a free real-time signal and tgkill have to do.
#include "platform/stop_signal.hpp"

#include "platform/monotonic_clock.hpp"
#include "platform/pages.hpp"
#include "platform/raw_syscall.hpp"
#include "platform/signal_action.hpp"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <ucontext.h>

namespace heapmark::platform {
namespace {

constexpr int library_signal = 33;
constexpr std::uint32_t answer_limit = 1U << 16;

/// Odd while a round is on.
constinit std::atomic<std::uint32_t> current_round{0};
constinit std::atomic<std::uint32_t> claimed{0};
constinit std::atomic<std::uint32_t> written{0};
constinit std::atomic<std::uint32_t> inside{0}; ///< handlers at work
constinit std::atomic<StopAnswer*> answers{nullptr};
constinit long owner_process = 0; ///< that the figures above are about: a forked child begins anew

constinit int stop_signal = library_signal;
constinit SignalAction action_before{};
constinit bool installed = false;
constinit const char stamp = 0; ///< its address marks our signals

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, std::uint64_t limit_ns) noexcept
{
    const timespec limit{static_cast<time_t>(limit_ns / 1'000'000'000), static_cast<long>(limit_ns % 1'000'000'000)};
    raw_syscall(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAIT_PRIVATE, value,
                limit_ns == 0 ? 0 : reinterpret_cast<long>(&limit));
}

void futex_wake(std::atomic<std::uint32_t>& word) noexcept
{
    raw_syscall(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAKE_PRIVATE, INT_MAX);
}

bool is_ours(const siginfo_t& info) noexcept
{
    if (stop_signal == library_signal) return info.si_code == SI_QUEUE && info.si_value.sival_ptr == &stamp;
    return info.si_code == SI_TKILL && info.si_pid == static_cast<int>(raw_syscall(SYS_getpid));
}

void write_context(ThreadContext& context, const ucontext_t& interrupted) noexcept
{
    const ThreadState& state = thread_state;
    context.system_id = static_cast<int>(raw_syscall(SYS_gettid));
    context.thread = state.thread;
    context.live = state.live_thread;
    context.stack = state.stack;
    context.thread_pointer = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
    const auto* registers = interrupted.uc_mcontext.gregs;
    // Below the stack pointer a function without calls may keep variables (System V ABI, AMD64 supplement, 3.2.2).
    constexpr std::uintptr_t red_zone_bytes = 128;
    context.stack_begin = static_cast<std::uintptr_t>(registers[REG_RSP]) - red_zone_bytes;
    context.code_address = static_cast<std::uintptr_t>(registers[REG_RIP]);
    static_assert(REG_R8 == 0 && REG_RIP == ThreadContext::register_count, "the general registers come first");
    for (unsigned i = 0; i < ThreadContext::register_count; ++i)
        context.registers[i] = static_cast<std::uintptr_t>(registers[i]);

    // struct _fpx_sw_bytes in the last bytes of the legacy area (Linux arch/x86/include/uapi/asm/sigcontext.h).
    constexpr std::size_t legacy_bytes = 512;
    constexpr std::uint32_t has_more = 0x46505853;
    context.vectors_begin = reinterpret_cast<std::uintptr_t>(interrupted.uc_mcontext.fpregs);
    context.vectors_end = context.vectors_begin + (context.vectors_begin == 0 ? 0 : legacy_bytes);
    if (context.vectors_begin != 0) {
        std::uint32_t words[2];
        std::memcpy(words, reinterpret_cast<const char*>(interrupted.uc_mcontext.fpregs) + 464, sizeof words);
        if (words[0] == has_more) context.vectors_end = context.vectors_begin + words[1];
    }
}

void wait_for_end(std::uint32_t round, const ucontext_t& interrupted) noexcept
{
    StopAnswer* all = answers.load(std::memory_order_acquire);
    const std::uint32_t index = claimed.fetch_add(1, std::memory_order_acq_rel);
    if (index < answer_limit) {
        write_context(all[index].context, interrupted);
        all[index].round.store(round, std::memory_order_release);
    }
    written.fetch_add(1, std::memory_order_acq_rel);
    futex_wake(written);
    while (current_round.load(std::memory_order_acquire) == round) futex_wait(current_round, round, 0);
}

void on_signal(int signal, void* info, void* context)
{
    if (!is_ours(*static_cast<siginfo_t*>(info))) {
        forward_signal(action_before, signal, info, context);
        return;
    }
    inside.fetch_add(1, std::memory_order_acq_rel);
    const std::uint32_t round = current_round.load(std::memory_order_acquire);
    if (round % 2 != 0) wait_for_end(round, *static_cast<ucontext_t*>(context));
    inside.fetch_sub(1, std::memory_order_acq_rel);
}

bool install(int signal) noexcept
{
    if (installed && signal == stop_signal) return true;
    if (!get_action(signal, action_before)) return false;
    stop_signal = signal;
    // Everything but faults waits until the thread goes on. The alternate stack is for threads on tiny stacks.
    constexpr std::uint64_t faults = 1ULL << (SIGSEGV - 1) | 1ULL << (SIGBUS - 1) | 1ULL << (SIGILL - 1) |
                                     1ULL << (SIGFPE - 1) | 1ULL << (SIGTRAP - 1);
    installed = set_action(signal, make_action(on_signal, SA_RESTART | SA_ONSTACK, ~faults));
    return installed;
}

/// The highest real-time signal that nobody has a handler for; 0 when there is none.
int free_signal() noexcept
{
    for (int signal = 64; signal > library_signal + 1; --signal) {
        SignalAction action;
        if (get_action(signal, action) && action.handler == nullptr) return signal;
    }
    return 0;
}

long send(int system_id) noexcept
{
    const long process = raw_syscall(SYS_getpid);
    if (stop_signal != library_signal) return raw_syscall(SYS_tgkill, process, system_id, stop_signal);
    siginfo_t info{};
    info.si_signo = stop_signal;
    info.si_code = SI_QUEUE;
    info.si_pid = static_cast<int>(process);
    info.si_value.sival_ptr = const_cast<char*>(&stamp);
    return raw_syscall(SYS_rt_tgsigqueueinfo, process, system_id, stop_signal, reinterpret_cast<long>(&info));
}

} // namespace

bool begin_stop_round(std::uint64_t limit_ns) noexcept
{
    if (answers.load(std::memory_order_relaxed) == nullptr) {
        // Kept for ever: a signal may reach its thread long after its round.
        auto* made = static_cast<StopAnswer*>(map_pages(answer_limit * sizeof(StopAnswer)));
        if (made == nullptr) return false;
        answers.store(made, std::memory_order_release);
    }
    const long process = raw_syscall(SYS_getpid);
    if (owner_process != process) {
        owner_process = process;
        inside.store(0, std::memory_order_relaxed);
        if (current_round.load(std::memory_order_relaxed) % 2 != 0)
            current_round.fetch_add(1, std::memory_order_relaxed);
    }
    const std::uint64_t deadline = monotonic_ns() + limit_ns;
    while (inside.load(std::memory_order_acquire) != 0) {
        if (monotonic_ns() > deadline) return false;
        raw_syscall(SYS_sched_yield);
    }
    if (!install(stop_signal)) return false;
    claimed.store(0, std::memory_order_relaxed);
    written.store(0, std::memory_order_relaxed);
    current_round.fetch_add(1, std::memory_order_acq_rel);
    return true;
}

AskResult ask_to_stop(int system_id) noexcept
{
    for (;;) {
        const long result = send(system_id);
        if (result == 0) return AskResult::asked;
        if (result == -ESRCH) return AskResult::gone;
        if (result == -EAGAIN) return AskResult::busy; // RLIMIT_SIGPENDING
        if (stop_signal != library_signal) return AskResult::refused;
        const SignalAction library_action = action_before;
        const int other = free_signal();
        if (other == 0 || !install(other)) return AskResult::refused;
        set_action(library_signal, library_action);
    }
}

std::uint32_t answers_begun() noexcept
{
    const std::uint32_t count = claimed.load(std::memory_order_acquire);
    return count < answer_limit ? count : answer_limit;
}

const StopAnswer* stop_answer(std::uint32_t index) noexcept
{
    const StopAnswer* answer = answers.load(std::memory_order_acquire) + index;
    return answer->round.load(std::memory_order_acquire) == current_round.load(std::memory_order_relaxed) ? answer
                                                                                                          : nullptr;
}

void await_answer(std::uint32_t known, std::uint64_t limit_ns) noexcept
{
    if (written.load(std::memory_order_acquire) == known) futex_wait(written, known, limit_ns);
}

void end_stop_round(bool all_answered) noexcept
{
    current_round.fetch_add(1, std::memory_order_acq_rel);
    futex_wake(current_round);
    if (!all_answered) return; // a late signal must find a handler: the default action would end the process
    set_action(stop_signal, action_before);
    installed = false;
}

} // namespace heapmark::platform
