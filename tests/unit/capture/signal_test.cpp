// SPDX-License-Identifier: BSL-1.0
// Stacks inside signal handlers: raised, faulting in a leaf and in libc's assembly, at any instruction by a timer;
// on the thread's stack and on an alternate one.
#include "compare.hpp"
#include "shapes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <setjmp.h>
#include <sys/time.h>
#include <vector>

using namespace capture_test;

namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool signals_come_late = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool signals_come_late = true;
#else
constexpr bool signals_come_late = false;
#endif
#else
constexpr bool signals_come_late = false;
#endif

Comparison seen;
sigjmp_buf after_fault;

void look_on_signal(int) { seen = compare_here(); }

void look_and_leave(int)
{
    seen = compare_here();
    siglongjmp(after_fault, 1);
}

/// Puts a handler in place while it lives, on a stack of its own when asked.
class Handler {
public:
    Handler(int signal, void (*handler)(int), bool alternate_stack) : signal_(signal), memory_(1 << 18)
    {
        stack_t stack{};
        stack.ss_sp = memory_.data();
        stack.ss_size = memory_.size();
        REQUIRE(sigaltstack(&stack, &old_stack_) == 0);
        struct sigaction action {};
        action.sa_handler = handler;
        action.sa_flags = SA_RESTART | (alternate_stack ? SA_ONSTACK : 0);
        REQUIRE(sigaction(signal, &action, &old_) == 0);
    }
    ~Handler()
    {
        sigaction(signal_, &old_, nullptr);
        sigaltstack(&old_stack_, nullptr);
    }
    Handler(const Handler&) = delete;
    Handler& operator=(const Handler&) = delete;

private:
    int signal_;
    std::vector<char> memory_;
    stack_t old_stack_{};
    struct sigaction old_ {};
};

/// A leaf, without a frame of its own where the compiler is let.
[[gnu::noinline]] int read_from(const int* address) { return *static_cast<const volatile int*>(address) + 1; }

volatile std::size_t sink;
const char* volatile bad_text;
void* volatile bad_memory;
int* volatile bad_number;

/// The call whose argument faults inside libc. Kept from being taken for a builtin.
[[gnu::noinline]] void fault_in_strlen()
{
    std::size_t (*volatile function)(const char*) = std::strlen;
    sink = function(bad_text);
}
[[gnu::noinline]] void fault_in_memcpy()
{
    void* (*volatile function)(void*, const void*, std::size_t) = std::memcpy;
    char there[4000] = {};
    sink = reinterpret_cast<std::size_t>(function(bad_memory, there, sizeof there));
}
[[gnu::noinline]] void fault_in_leaf() { sink = static_cast<std::size_t>(read_from(bad_number)); }

template <class Fault>
Comparison after(Fault fault)
{
    seen = {};
    if (sigsetjmp(after_fault, 1) == 0) shapes::recurse(3, fault);
    return seen;
}

} // namespace

TEST_CASE("a raised signal")
{
    const PreparedThread prepared;
    for (const bool alternate : {false, true}) {
        CAPTURE(alternate);
        const Handler handler(SIGUSR1, look_on_signal, alternate);
        seen = {};
        shapes::recurse(4, [] { std::raise(SIGUSR1); });
        CHECK_SAME_STACK(seen, 13);
        // A frame that is found by its frame register, above the signal's.
        shapes::aligned_and_growing(100, [] { std::raise(SIGUSR1); });
        CHECK_SAME_STACK(seen, 10);
    }
}

TEST_CASE("a fault in a leaf and in libc")
{
    const PreparedThread prepared;
    // An address that is never mapped, and no null that a compiler could reason about.
    bad_text = reinterpret_cast<const char*>(0x10);
    bad_memory = reinterpret_cast<void*>(0x10);
    bad_number = reinterpret_cast<int*>(0x10);
    for (const bool alternate : {false, true}) {
        CAPTURE(alternate);
        const Handler handler(SIGSEGV, look_and_leave, alternate);
        CHECK_SAME_STACK(after(fault_in_leaf), 10);
        CHECK_SAME_STACK(after(fault_in_strlen), 10);
        CHECK_SAME_STACK(after(fault_in_memcpy), 10);
    }
}

TEST_CASE("a handler interrupted by another, on two stacks")
{
    const PreparedThread prepared;
    const Handler outer(
        SIGUSR2, [](int) { shapes::grow(200, [] { std::raise(SIGUSR1); }); }, true);
    const Handler inner(SIGUSR1, look_on_signal, false);
    seen = {};
    shapes::recurse(2, [] { std::raise(SIGUSR2); });
    CHECK_SAME_STACK(seen, 14);
}

namespace {

volatile std::sig_atomic_t looks;
volatile std::sig_atomic_t wrong_looks;
Comparison first_wrong;

void look_often(int)
{
    seen = compare_here();
    looks = looks + 1;
    if (seen.same) return;
    if (wrong_looks == 0) first_wrong = seen;
    wrong_looks = wrong_looks + 1;
}

int by_value(const void* a, const void* b)
{
    return *static_cast<const int*>(a) < *static_cast<const int*>(b) ? -1 : 1;
}

/// Prologues, epilogues, libc's assembly, calls through the linkage table.
void work(unsigned& state)
{
    int values[40];
    for (int& value : values) {
        state = state * 1664525U + 1013904223U;
        value = static_cast<int>(state >> 8);
    }
    std::qsort(values, std::size(values), sizeof values[0], by_value);
    shapes::recurse(3, [] {});
    shapes::aligned_and_growing(state % 700, [] {});
    shapes::busy_registers(2, [] {});
    char text[128];
    std::memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    sink = std::strlen(text);
    std::uint64_t frames[32];
    sink = capture_here(frames, 32); // a walk, or a fill of the cache, interrupted by another
    if (state % 8 == 0) std::memset(static_cast<void*>(thread_cache()), 0, heapmark::capture::rule_cache_bytes);
}

} // namespace

TEST_CASE("a timer that interrupts anywhere")
{
    if (signals_come_late) return;
    const PreparedThread prepared;
    for (const bool alternate : {false, true}) {
        CAPTURE(alternate);
        looks = 0;
        wrong_looks = 0;
        const Handler handler(SIGALRM, look_often, alternate);
        unsigned state = 1;
        for (int round = 0; round < 3000; ++round) {
            const int before = looks;
            // Once a round: a handler slower than its timer would leave the work no time.
            const itimerval once{{0, 0}, {0, 1 + static_cast<int>(state >> 8) % 100}};
            setitimer(ITIMER_REAL, &once, nullptr);
            while (looks == before) work(state);
        }
        INFO("way: ", doctest::String(first_wrong.way), ", first difference at frame ", first_wrong.differs_at);
        CHECK(wrong_looks == 0);
        CHECK(looks == 3000);
    }
}
