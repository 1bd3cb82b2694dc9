// SPDX-License-Identifier: BSL-1.0
// Other ways to run: a forked child (also of a busy program), a vfork child, a cloned thread, a fiber, a main thread
// that ended.
#include "both_ways.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <vector>

namespace {

int status_of(pid_t child)
{
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
}

void forked_child()
{
    const Since since;
    void* inherited = opaque(std::malloc(100));
    const pid_t child = fork();
    if (child == 0) {
        EXPECT(since.holds(1, 100));
        std::free(inherited);
        void* own = opaque(std::malloc(33));
        EXPECT(since.holds(1, 33));
        const Since later;
        std::free(own);
        own = opaque(std::malloc(44));
        EXPECT(later.holds(1, 44));
        std::free(own);
        EXPECT(since.holds(0, 0));
        _exit(failed_checks.load());
    }
    EXPECT_EQ(status_of(child), 0);
    EXPECT(since.holds(1, 100)); // the child's doings are its own
    std::free(inherited);
    EXPECT(since.holds(0, 0));
}

std::atomic<bool> stop{false};

void* allocate_for_ever(void*)
{
    while (!stop.load()) {
        void* block = opaque(std::malloc(400));
        block = opaque(std::realloc(block, 900));
        std::free(block);
    }
    return nullptr;
}

/// Forks while others allocate: the child must be able to.
void forked_while_busy()
{
    pthread_t threads[3];
    for (pthread_t& thread : threads) pthread_create(&thread, nullptr, allocate_for_ever, nullptr);
    for (int i = 0; i < 50; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            const Since since; // what the other threads were at when they vanished is older
            std::vector<void*> blocks;
            for (int j = 0; j < 100; ++j) blocks.push_back(opaque(std::malloc(static_cast<std::size_t>(j))));
            for (void* block : blocks) std::free(block);
            std::vector<void*>().swap(blocks);
            EXPECT(since.holds(0, 0));
            _exit(failed_checks.load());
        }
        EXPECT_EQ(status_of(child), 0);
    }
    stop = true;
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
}

void vforked_child()
{
    const Since since;
    static void* made = nullptr;
    const pid_t child = vfork();
    if (child == 0) {
        made = opaque(std::malloc(70)); // shares the parent's memory, so the parent has it then
        std::free(opaque(std::malloc(71)));
        _exit(0);
    }
    EXPECT_EQ(status_of(child), 0);
    EXPECT(since.holds(1, 70));
    std::free(made);
    EXPECT(since.holds(0, 0));
}

void* from_clone = nullptr;
int in_clone(void*)
{
    from_clone = opaque(std::malloc(90));
    std::free(opaque(std::malloc(91)));
    return 0;
}

/// A thread that no library knows of. It shares the caller's thread-local storage, as the caller sleeps meanwhile.
void cloned_thread()
{
    const Since since;
    constexpr std::size_t bytes = 256 * 1024;
    auto* stack = static_cast<char*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0));
    const int child = clone(in_clone, stack + bytes, CLONE_VM | CLONE_VFORK | SIGCHLD, nullptr);
    EXPECT(child > 0);
    EXPECT_EQ(status_of(child), 0);
    EXPECT(since.holds(1, 90));
    std::free(from_clone);
    munmap(stack, bytes);
    EXPECT(since.holds(0, 0));
}

ucontext_t main_context;
ucontext_t fiber_context;
void* from_fiber = nullptr;

void fiber()
{
    for (int i = 0; i < 3; ++i) {
        std::free(from_fiber);
        from_fiber = opaque(std::malloc(static_cast<std::size_t>(500 + i)));
        swapcontext(&fiber_context, &main_context);
    }
}

void fibers()
{
    const Since since;
    void* stack = std::malloc(64 * 1024);
    getcontext(&fiber_context);
    fiber_context.uc_stack.ss_sp = stack;
    fiber_context.uc_stack.ss_size = 64 * 1024;
    fiber_context.uc_link = &main_context;
    makecontext(&fiber_context, fiber, 0);
    for (std::uint64_t i = 0; i < 3; ++i) {
        swapcontext(&main_context, &fiber_context);
        EXPECT(since.holds(2, 64 * 1024 + 500 + i));
    }
    std::free(from_fiber);
    std::free(stack);
    EXPECT(since.holds(0, 0));
}

void* outlives_main(void* main_thread)
{
    pthread_join(*static_cast<pthread_t*>(main_thread), nullptr);
    const Since since;
    void* block = opaque(std::malloc(1));
    EXPECT(since.holds(1, 1));
    std::free(block);
    EXPECT(since.holds(0, 0));
    std::_Exit(verdict());
}

} // namespace

int main()
{
    forked_child();
    vforked_child();
    cloned_thread();
    fibers();
    forked_while_busy();
    static pthread_t self = pthread_self();
    pthread_t last;
    pthread_create(&last, nullptr, outlives_main, &self);
    pthread_exit(nullptr);
}
