// SPDX-License-Identifier: BSL-1.0
// Stacks that are not a thread's own (makecontext, clone, vfork), and stacks with garbage in them.
#include "compare.hpp"
#include "shapes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <random>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

using namespace capture_test;

namespace {

Comparison seen;

void look() { seen = compare_here(); }

/// Pages of their own, with one below and one above that may not be touched.
class GuardedStack {
public:
    explicit GuardedStack(std::size_t bytes) : bytes_(bytes)
    {
        void* all = mmap(nullptr, bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(all != MAP_FAILED);
        low_ = static_cast<char*>(all) + page;
        REQUIRE(mprotect(low_, bytes, PROT_READ | PROT_WRITE) == 0);
    }
    ~GuardedStack() { munmap(low_ - page, bytes_ + 2 * page); }
    GuardedStack(const GuardedStack&) = delete;
    GuardedStack& operator=(const GuardedStack&) = delete;

    [[nodiscard]] char* low() const { return low_; }
    [[nodiscard]] char* high() const { return low_ + bytes_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    static constexpr std::size_t page = 4096;
    std::size_t bytes_;
    char* low_;
};

constexpr std::size_t stack_bytes = 1 << 20;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

ucontext_t main_context;
ucontext_t fiber_context;

void fiber()
{
    look();
    swapcontext(&fiber_context, &main_context);
    shapes::recurse(20, look);
    swapcontext(&fiber_context, &main_context);
    shapes::large_frame(look);
    swapcontext(&fiber_context, &main_context);
    shapes::aligned<4096>(look);
}

#endif

} // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // which would have to be told of each switch

TEST_CASE("a context with a stack of its own")
{
    const PreparedThread prepared;
    const GuardedStack stack(stack_bytes);
    REQUIRE(getcontext(&fiber_context) == 0);
    fiber_context.uc_stack.ss_sp = stack.low();
    fiber_context.uc_stack.ss_size = stack.bytes();
    fiber_context.uc_link = &main_context;
    makecontext(&fiber_context, fiber, 0);
    for (const unsigned least : {1U, 21U, 2U, 2U}) {
        seen = {};
        REQUIRE(swapcontext(&main_context, &fiber_context) == 0);
        CHECK_SAME_STACK(seen, least);
    }
    look();
    CHECK_SAME_STACK(seen, 5);
}

TEST_CASE("a cloned child that shares the memory, on a stack of its own")
{
    const PreparedThread prepared;
    const GuardedStack stack(stack_bytes);
    seen = {};
    const auto body = [](void*) {
        shapes::recurse(5, look);
        return 0;
    };
    const int child = clone(body, stack.high(), CLONE_VM | SIGCHLD, nullptr);
    REQUIRE(child > 0);
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK_SAME_STACK(seen, 7);
}

TEST_CASE("a vfork child, on the stack of its parent")
{
    const PreparedThread prepared;
    seen = {};
    const int child = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork): what is tested
    if (child == 0) {
        shapes::recurse(5, look);
        _exit(0);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK_SAME_STACK(seen, 10);
}

#endif

TEST_CASE("a forked child of a thread that is not the first")
{
    const PreparedThread prepared;
    const int child = fork();
    if (child == 0) {
        shapes::recurse(5, look);
        _exit(seen.same && seen.depth >= 10 ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

namespace {

constexpr unsigned most = heapmark::capture::max_depth_frames;
std::uint64_t intact[most];
unsigned intact_count;
std::uint64_t broken[most];
unsigned broken_count;
std::uintptr_t garbage;
bool break_return_address;
bool stack_is_known;

void capture_into(std::uint64_t* frames, unsigned& count, const heapmark::capture::Caller& caller)
{
    const auto stack = stack_is_known ? thread_stack() : heapmark::platform::StackBounds{};
    count = heapmark::capture::capture_stack(caller, stack, thread_cache(), frames, most);
}

/// Overwrites its own saved frame register or return address, captures, and puts it right again: what lies above is
/// garbage for the walk only.
[[gnu::noinline]] void break_own_frame()
{
    auto* const frame = static_cast<volatile std::uintptr_t*>(__builtin_frame_address(0));
    const heapmark::capture::Caller here{reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)),
                                         reinterpret_cast<std::uintptr_t>(frame) + 16, frame[0]};
    capture_into(intact, intact_count, here);
    // The frame above this one is taken whole: its words are at the stack pointer after the return.
    auto* const victim = reinterpret_cast<volatile std::uintptr_t*>(here.fp);
    const std::uintptr_t kept = victim[break_return_address ? 1 : 0];
    victim[break_return_address ? 1 : 0] = garbage;
    capture_into(broken, broken_count, here);
    victim[break_return_address ? 1 : 0] = kept;
    asm volatile("" : : : "memory");
}

/// Frames with frame pointers, so that here.fp above is the frame of the innermost of these.
void break_a_frame() { shapes::recurse_with_frame_pointer(3, break_own_frame); }

} // namespace

TEST_CASE("a corrupted stack gives a right prefix and never a fault")
{
    const PreparedThread prepared;
    int local = 0;
    const auto here = reinterpret_cast<std::uintptr_t>(&local);
    std::vector<std::uintptr_t> values{0,
                                       1,
                                       7,
                                       8,
                                       4096,
                                       ~std::uintptr_t{0},
                                       ~std::uintptr_t{7},
                                       ~std::uintptr_t{15},
                                       0x4141414141414141,
                                       0x7fffffffffff,
                                       0x800000000000,
                                       0xffff800000000000,
                                       0xffffffffff600000,
                                       here,
                                       here + 8,
                                       here - 64,
                                       here + 100000000,
                                       here - 100000000,
                                       here | 1,
                                       thread_stack().high,
                                       thread_stack().high - 8,
                                       thread_stack().high - 16,
                                       thread_stack().low,
                                       thread_stack().low + 8,
                                       reinterpret_cast<std::uintptr_t>(&break_a_frame),
                                       reinterpret_cast<std::uintptr_t>(&intact)};
    std::mt19937_64 random(20240101);
    for (int i = 0; i < 2000; ++i) values.push_back(random() >> (random() % 48));
    for (int i = 0; i < 2000; ++i) values.push_back(here + (random() % 65536) - 16384);
    // Return addresses into every part of a library.
    const auto code = reinterpret_cast<std::uintptr_t>(&qsort);
    for (int i = 0; i < 20000; ++i) values.push_back(code + (random() % 1000000) - 200000);
    unsigned wrong_prefixes = 0;
    for (const std::uintptr_t value : values)
        for (const bool return_address : {false, true})
            for (const bool known : {true, false}) {
                garbage = value;
                break_return_address = return_address;
                stack_is_known = known;
                break_a_frame();
                REQUIRE(intact_count >= 8);
                // What was found before the garbage was used.
                const unsigned right = return_address ? 1 : 2;
                if (broken_count < right || !std::equal(intact, intact + right, broken)) ++wrong_prefixes;
            }
    CHECK(wrong_prefixes == 0);
}

TEST_CASE("a caller that is garbage itself")
{
    const PreparedThread prepared;
    std::mt19937_64 random(7);
    const auto code = reinterpret_cast<std::uintptr_t>(&qsort);
    const auto stack = thread_stack();
    std::uint64_t frames[most];
    unsigned total = 0;
    for (int i = 0; i < 50000; ++i) {
        heapmark::capture::Caller caller{code + (random() % 1000000) - 200000, random(), random()};
        if (i % 3 == 0) caller.sp = stack.high - 1 - random() % 20000;
        if (i % 5 == 0) caller.fp = stack.high - 1 - random() % 20000;
        if (i % 7 == 0) caller.sp = random() % 5000;
        total += heapmark::capture::capture_stack(caller, i % 2 == 0 ? stack : heapmark::platform::StackBounds{},
                                                  thread_cache(), frames, most);
    }
    CHECK(total >= 10000);
}
