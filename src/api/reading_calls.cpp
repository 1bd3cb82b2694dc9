// SPDX-License-Identifier: BSL-1.0
// All that a handler touches is here, and lives as long as the process.
#include "api/reading_calls.hpp"

#include "platform/raw_syscall.hpp"

#include <array>
#include <climits>
#include <csignal>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>

namespace heapmark {
namespace {

constexpr int signals = 65; // of Linux on x86-64, from 1 on

constinit std::array<std::atomic<std::uint32_t>, signals> counts{};
struct sigaction before[signals];

void on_signal(int signal)
{
    counts[static_cast<std::size_t>(signal)].fetch_add(1, std::memory_order_release);
    call_readers();
}

} // namespace

void call_readers() noexcept
{
    reading_calls.fetch_add(1, std::memory_order_release);
    platform::raw_syscall(SYS_futex, reinterpret_cast<long>(&reading_calls), FUTEX_WAKE_PRIVATE, INT_MAX);
}

void await_reading_call(std::uint32_t seen, std::uint64_t limit_ns) noexcept
{
    const timespec limit{static_cast<time_t>(limit_ns / 1'000'000'000), static_cast<long>(limit_ns % 1'000'000'000)};
    platform::raw_syscall(SYS_futex, reinterpret_cast<long>(&reading_calls), FUTEX_WAIT_PRIVATE, seen,
                          limit_ns == 0 ? 0 : reinterpret_cast<long>(&limit));
}

bool take_signal(int signal) noexcept
{
    if (signal < 1 || signal >= signals) return false;
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    return sigaction(signal, &action, &before[signal]) == 0;
}

void give_back_signal(int signal) noexcept { sigaction(signal, &before[signal], nullptr); }

std::uint32_t signal_count(int signal) noexcept
{
    return counts[static_cast<std::size_t>(signal)].load(std::memory_order_acquire);
}

} // namespace heapmark
