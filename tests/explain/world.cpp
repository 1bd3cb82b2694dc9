// SPDX-License-Identifier: BSL-1.0
// Stopping the world: threads that come and go, wait in system calls, mask signals, run on stacks of their own; memory
// that goes away; forked children.
#include "situations.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <pthread.h>
#include <semaphore.h>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

using heapmark::Reach;
using heapmark::Root;

namespace {

std::atomic<int> ready{0};
sem_t go_on;

/// Memory whose only address the thread holds: on its stack, in a system call, with all signals blocked.
void* hold_with_signals_blocked(void*)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    void* volatile mine = std::malloc(321);
    ready.fetch_add(1);
    while (sem_wait(&go_on) != 0) {}
    std::free(mine);
    return nullptr;
}

void threads_in_system_calls()
{
    const heapmark::Generation g = heapmark::mark("system calls");
    ready = 0;
    sem_init(&go_on, 0, 0);
    pthread_t threads[20];
    for (pthread_t& thread : threads) pthread_create(&thread, nullptr, hold_with_signals_blocked, nullptr);
    while (ready.load() != 20) std::this_thread::yield();
    {
        const heapmark::Explanation why = explain_since(g);
        EXPECT(why.complete());
        EXPECT_EQ(why.held().filter([](const heapmark::Block& block) { return block.size == 321; }).size(), 20);
        EXPECT_EQ(why.lost().size(), 0);
    }
    for (int i = 0; i < 20; ++i) sem_post(&go_on);
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
    EXPECT_EQ(explain_since(g).lost().size(), 0);
}

/// What a thread's function was called with is held while the thread lives, whatever the function does with it.
void* forget_argument(void* argument)
{
    argument = nullptr;
    heapmark::escape(argument);
    scrub_stack();
    ready.fetch_add(1);
    while (sem_wait(&go_on) != 0) {}
    return nullptr;
}

[[gnu::noinline]] Hidden start_with_argument(pthread_t& thread)
{
    auto* argument = static_cast<char*>(std::calloc(1, 77));
    pthread_create(&thread, nullptr, forget_argument, argument);
    return Hidden(argument);
}

void start_arguments()
{
    const heapmark::Generation g = heapmark::mark("arguments");
    ready = 0;
    pthread_t thread{};
    const Hidden argument = start_with_argument(thread);
    while (ready.load() != 1) std::this_thread::yield();
    EXPECT_EQ(reach_of(explain_since(g), argument), Reach::held);
    sem_post(&go_on);
    pthread_join(thread, nullptr);
    EXPECT_EQ(reach_of(explain_since(g), argument), Reach::lost);
}

/// Blocks every signal behind the C library's back, and never looks up.
void* unstoppable(void*)
{
    const std::uint64_t all = ~std::uint64_t{0};
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, nullptr, sizeof all);
    pthread_setname_np(pthread_self(), "stubborn");
    void* volatile mine = std::malloc(222);
    ready.fetch_add(1);
    while (ready.load() != 2) usleep(1000);
    std::free(mine);
    const std::uint64_t none = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none); // a late signal ends nothing
    return nullptr;
}

void thread_that_does_not_stop()
{
    const heapmark::Generation g = heapmark::mark("unstoppable");
    ready = 0;
    std::thread thread([] { unstoppable(nullptr); });
    while (ready.load() != 1) std::this_thread::yield();
    scrub_stack();
    heapmark::ExplainOptions options;
    options.stop_limit_ms = 50;
    {
        const heapmark::Explanation why = heapmark::explain(heapmark::survivors(g), options);
        EXPECT(!why.complete());
        EXPECT(why.problem().find("stubborn") != std::string_view::npos);
        EXPECT_EQ(why.lost().size(), 0); // its whole stack is searched
    }
    ready = 2;
    thread.join();
    EXPECT(explain_since(g).complete());
}

void* come_and_go(void* stop)
{
    void* volatile mine = std::malloc(100);
    if (static_cast<std::atomic<bool>*>(stop)->load()) usleep(10);
    std::free(mine);
    return nullptr;
}

/// Threads are created and end without a pause, and hold what they have; nothing may be lost, nothing may hang.
void threads_that_come_and_go()
{
    const heapmark::Generation g = heapmark::mark("come and go");
    std::atomic<bool> stop{false};
    std::atomic<int> created{0};
    std::vector<std::thread> makers;
    for (int i = 0; i < 4; ++i)
        makers.emplace_back([&] {
            while (!stop.load()) {
                pthread_t some[50];
                int count = 0;
                while (count < 50 && pthread_create(&some[count], nullptr, come_and_go, &stop) == 0) ++count;
                created.fetch_add(count);
                while (count > 0) pthread_join(some[--count], nullptr);
            }
        });
    std::size_t lost = 0;
    std::size_t incomplete = 0;
    for (int i = 0; i < 150; ++i) {
        const heapmark::Explanation why = heapmark::explain(heapmark::survivors(g));
        incomplete += why.complete() ? 0 : 1;
        lost += why.lost().size();
    }
    stop = true;
    for (std::thread& maker : makers) maker.join();
    EXPECT_EQ(lost, 0);
    EXPECT_EQ(incomplete, 0);
    EXPECT(created.load() > 200);
}

// ---------------------------------------------------------------- stacks of one's own

ucontext_t main_context;
ucontext_t fiber_context;
Hidden on_fiber;

void fiber()
{
    void* volatile mine = std::malloc(555);
    on_fiber = Hidden(mine);
    swapcontext(&fiber_context, &main_context);
    std::free(mine);
}

void swapped_out_stack()
{
    const heapmark::Generation g = heapmark::mark("fiber");
    constexpr std::size_t stack_bytes = 256 * 1024;
    void* stack = std::malloc(stack_bytes);
    getcontext(&fiber_context);
    fiber_context.uc_stack.ss_sp = stack;
    fiber_context.uc_stack.ss_size = stack_bytes;
    fiber_context.uc_link = &main_context;
    makecontext(&fiber_context, fiber, 0);
    swapcontext(&main_context, &fiber_context);
    EXPECT_EQ(reach_of(explain_since(g), on_fiber), Reach::held);
    swapcontext(&main_context, &fiber_context);
    std::free(stack);
    EXPECT_EQ(heapmark::survivors(g).size(), 0);
}

// ---------------------------------------------------------------- memory that goes away

void protected_memory()
{
    const heapmark::Generation g = heapmark::mark("protected");
    constexpr std::size_t page = 4096;
    static void* pages = nullptr;
    pages = std::aligned_alloc(page, 3 * page);
    std::memset(pages, 0, 3 * page);
    auto** last = reinterpret_cast<void**>(static_cast<char*>(pages) + 3 * page) - 1;
    *last = std::malloc(10);
    const Hidden behind(*last);
    EXPECT_EQ(mprotect(static_cast<char*>(pages) + page, page, PROT_NONE), 0);
    {
        const heapmark::Explanation why = explain_since(g);
        EXPECT(why.complete());
        EXPECT_EQ(why.held().size(), 2);
        EXPECT_EQ(reach_of(why, behind), Reach::held);
    }
    mprotect(static_cast<char*>(pages) + page, page, PROT_READ | PROT_WRITE);
    std::free(*last);
    std::free(pages);
}

// ---------------------------------------------------------------- children

[[gnu::noinline]] void lose_one()
{
    void* block = std::malloc(99);
    heapmark::escape(block);
}

void forked_children()
{
    std::atomic<bool> stop{false};
    std::vector<std::thread> others;
    for (int i = 0; i < 3; ++i)
        others.emplace_back([&] {
            while (!stop.load()) std::free(opaque(std::malloc(opaque(30))));
        });
    for (int i = 0; i < 20; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            const heapmark::Generation g = heapmark::mark("child");
            lose_one();
            const heapmark::Explanation why = explain_since(g);
            _exit(why.complete() && why.lost().size() == 1 ? 0 : 1);
        }
        const heapmark::Explanation meanwhile = heapmark::explain(heapmark::survivors(heapmark::mark("parent")));
        int status = -1;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    stop = true;
    for (std::thread& other : others) other.join();
}

} // namespace

int main()
{
    threads_in_system_calls();
    start_arguments();
    thread_that_does_not_stop();
    threads_that_come_and_go();
    swapped_out_stack();
    protected_memory();
    forked_children();
    return verdict();
}
