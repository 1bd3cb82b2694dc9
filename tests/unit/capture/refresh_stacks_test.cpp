// SPDX-License-Identifier: BSL-1.0
// The stack cache where a thread has more than one stack, or is interrupted: contexts that switch back and forth, with
// stacks of their own and inside the thread's; handlers at any instruction, on the thread's stack and on another.
#include "refresh_check.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <cstring>
#include <memory>
#include <sys/time.h>
#include <thread>
#include <ucontext.h>
#include <vector>

using namespace capture_test;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HEAPMARK_TEST_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEAPMARK_TEST_SANITIZED
#endif

// Sanitizers would have to be told of each switch; and they deliver signals late, or on other frames.
#if !defined(HEAPMARK_TEST_SANITIZED)

namespace {

constexpr std::size_t fiber_bytes = 1 << 18;

/// Contexts that hand over to one another at random looks.
struct Fibers {
    struct Fiber {
        ucontext_t context;
        Wanderer wanderer;
    };
    std::vector<std::unique_ptr<Fiber>> fibers; ///< the first is the thread's own stack
    std::size_t current = 0;
    RefreshCheck* check = nullptr;
};
thread_local Fibers* running;

void switch_to(std::size_t next)
{
    const std::size_t before = running->current;
    if (next == before) return;
    running->current = next;
    swapcontext(&running->fibers[before]->context, &running->fibers[next]->context);
}

void look_and_switch(Wanderer& w)
{
    w.other = running->check;
    look_by_refresh(w);
    if (w.below(20) == 0) switch_to(w.below(running->fibers.size()));
    asm volatile("" : : : "memory");
}

void fiber_main()
{
    for (;;) {
        wander(running->fibers[running->current]->wanderer);
        running->fibers[running->current]->wanderer.looks_left = 1000;
    }
}

void add_fiber(Fibers& fibers, char* memory, std::uint64_t seed)
{
    auto fiber = std::make_unique<Fibers::Fiber>();
    // No exceptions and no jumps: the C++ library knows one stack a thread.
    fiber->wanderer = {signal_safe_stops(), look_and_switch, seed, 1000, 30};
    REQUIRE(getcontext(&fiber->context) == 0);
    if (memory != nullptr) {
        fiber->context.uc_stack.ss_sp = memory;
        fiber->context.uc_stack.ss_size = fiber_bytes;
        makecontext(&fiber->context, fiber_main, 0);
    }
    fibers.fibers.push_back(std::move(fiber));
}

} // namespace

TEST_CASE("contexts that switch back and forth")
{
    // Stacks inside the thread's own look like a part of it, where others are told by their addresses.
    for (const bool inside : {false, true}) {
        CAPTURE(inside);
        RefreshCheck check;
        Fibers fibers;
        fibers.check = &check;
        running = &fibers;
        const std::unique_ptr<char[]> elsewhere(new char[4 * fiber_bytes]);
        char here[4 * fiber_bytes];
        char* const memory = inside ? here : elsewhere.get();
        add_fiber(fibers, nullptr, 99);
        for (std::size_t i = 0; i < 4; ++i) add_fiber(fibers, memory + i * fiber_bytes, 7 + i);
        Wanderer& own = fibers.fibers[0]->wanderer;
        own.looks_left = 60000;
        wander(own);
        CHECK_FOUND_RIGHT(check.found, 200000);
        if (inside)
            CHECK(check.found.given_up == 0);
        else
            CHECK(check.found.given_up > check.found.looks / 2); // the four others
    }
}

namespace {

RefreshCheck* interrupted;
volatile std::sig_atomic_t interruptions;
std::uint64_t handler_seed = 12345;

void interrupt(int)
{
    Wanderer w{signal_safe_stops(), look_by_refresh, handler_seed += 2, 4, interruptions % 8 == 0 ? 90 : 12};
    w.aim = w.most_deep;
    w.other = interrupted;
    wander(w);
    interruptions = interruptions + 1;
}

} // namespace

TEST_CASE("handlers at any instruction")
{
    for (const bool alternate : {false, true}) {
        CAPTURE(alternate);
        RefreshCheck check;
        check.interrupted_any_time = true;
        interrupted = &check;
        interruptions = 0;
        std::vector<char> memory(1 << 19);
        stack_t stack{};
        stack_t old_stack{};
        stack.ss_sp = memory.data();
        stack.ss_size = memory.size();
        REQUIRE(sigaltstack(&stack, &old_stack) == 0);
        struct sigaction action = {};
        struct sigaction old = {};
        action.sa_handler = interrupt;
        action.sa_flags = SA_RESTART | (alternate ? SA_ONSTACK : 0);
        REQUIRE(sigaction(SIGALRM, &action, &old) == 0);

        std::uint64_t seed = 77;
        for (int round = 0; round < 4000; ++round) {
            const int before = interruptions;
            const itimerval once{{0, 0}, {0, 1 + round * 7 % 150}};
            setitimer(ITIMER_REAL, &once, nullptr);
            while (interruptions == before) {
                Wanderer w{signal_safe_stops(), look_by_refresh, seed += 2, 40, 60};
                w.other = &check;
                wander(w);
                // A cold cache of rules, whose filling is interrupted then.
                if (w.below(8) == 0)
                    std::memset(static_cast<void*>(check.rules->entries), 0, sizeof check.rules->entries);
            }
        }
        sigaction(SIGALRM, &old, nullptr);
        sigaltstack(&old_stack, nullptr);
        CHECK_FOUND_RIGHT(check.found, 100000);
        CHECK(interruptions == 4000);
        CHECK(check.found.given_up < check.found.looks / 4);
        CHECK_FALSE(check.stacks->busy);
    }
}

#endif
