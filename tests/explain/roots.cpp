// SPDX-License-Identifier: BSL-1.0
// Roots and their names: the function whose frame or register holds the pointer, thread_local variables of the program
// and of a library loaded late, numbers of pthread_setspecific keys, lists of what is to be called at the end.
#include "situations.hpp"

#include <atomic>
#include <cstdlib>
#include <cxxabi.h>
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern "C" void* __dso_handle; // NOLINT(bugprone-reserved-identifier): the ABI's

using heapmark::Reach;
using heapmark::Root;

namespace {

std::atomic<int> ready{0};
sem_t go_on;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

[[gnu::noinline]] Hidden make(void** place, std::size_t bytes)
{
    *place = std::calloc(1, bytes);
    return Hidden(*place);
}

std::string text_of(const heapmark::Explanation& why)
{
    std::ostringstream out;
    out << why;
    return out.str();
}

[[gnu::noinline]] Hidden make_and(void (*keep)(void*), std::size_t bytes)
{
    void* block = nullptr;
    const Hidden hidden = make(&block, bytes);
    keep(block);
    return hidden;
}

// ---------------------------------------------------------------- functions

Hidden in_own_frame;
Hidden in_thread_frame;

[[gnu::noinline]] heapmark::Explanation ask_below(heapmark::Generation g)
{
    heapmark::Explanation why = explain_since(g);
    heapmark::escape(&why); // no tail call
    return why;
}

[[gnu::noinline]] void keeps_it_in_its_frame(heapmark::Generation g)
{
    void* local[3] = {};
    heapmark::escape(&local);
    in_own_frame = make(&local[1], 71);
    scrub_stack();
    const heapmark::Explanation why = ask_below(g);
    const heapmark::Path path = path_to(why, in_own_frame);
    EXPECT_EQ(path.root.kind, Root::Kind::stack);
    EXPECT(path.root.address == &local[1]);
    EXPECT(contains(path.root.name, "keeps_it_in_its_frame"));
    EXPECT(contains(path.root.module, "explain_roots"));
    EXPECT(contains(text_of(why), "keeps_it_in_its_frame"));
    std::free(local[1]);
}

[[gnu::noinline]] void waits_below()
{
    volatile char room[2000] = {};
    heapmark::escape(const_cast<char*>(&room[0]));
    ready.fetch_add(1);
    while (sem_wait(&go_on) != 0) {}
}

[[gnu::noinline]] void thread_keeps_it()
{
    void* local[2] = {};
    heapmark::escape(&local);
    in_thread_frame = make(&local[1], 72);
    waits_below();
    std::free(local[1]);
}

void* run_thread(void*)
{
    thread_keeps_it();
    return nullptr;
}

/// Nothing but a register: the pointer is there and nowhere else while the loop runs.
Hidden in_register;
std::atomic<bool> leave{false};

[[gnu::noinline]] void spins_with_it(void* block)
{
    in_register = Hidden(block);
    std::atomic<bool>* const end = &leave;
    ready.fetch_add(1);
    __asm__ volatile("1: pause\n\t"
                     "cmpb $0, (%1)\n\t"
                     "je 1b\n\t"
                     : "+r"(block)
                     : "r"(end)
                     : "memory", "cc");
    std::free(block);
}

void* run_spinner(void*)
{
    spins_with_it(std::calloc(1, 73));
    return nullptr;
}

void functions()
{
    const heapmark::Generation g = heapmark::mark("functions");
    keeps_it_in_its_frame(g);

    ready = 0;
    sem_init(&go_on, 0, 0);
    pthread_t thread{};
    pthread_create(&thread, nullptr, run_thread, nullptr);
    while (ready.load() != 1) {}
    {
        const heapmark::Explanation why = explain_since(g);
        EXPECT_EQ(path_to(why, in_thread_frame).root.kind, Root::Kind::stack);
        EXPECT(contains(path_to(why, in_thread_frame).root.name, "thread_keeps_it"));
    }
    sem_post(&go_on);
    pthread_join(thread, nullptr);

    ready = 0;
    pthread_create(&thread, nullptr, run_spinner, nullptr);
    while (ready.load() != 1) {}
    {
        const heapmark::Explanation why = explain_since(g);
        const heapmark::Path path = path_to(why, in_register);
        EXPECT(path.root.kind == Root::Kind::registers || path.root.kind == Root::Kind::stack);
        EXPECT(contains(path.root.name, "spins_with_it") || path.root.kind == Root::Kind::stack);
    }
    leave = true;
    pthread_join(thread, nullptr);
}

// ---------------------------------------------------------------- thread_local variables

thread_local void* of_program[4];

void* use_thread_variable(void*)
{
    static_cast<void>(make(&of_program[2], 74));
    heapmark::escape(&of_program);
    ready.fetch_add(1);
    while (sem_wait(&go_on) != 0) {}
    std::free(of_program[2]);
    return nullptr;
}

void thread_variables()
{
    const heapmark::Generation g = heapmark::mark("thread variables");
    const Hidden mine = make(&of_program[3], 75);
    heapmark::escape(&of_program);
    ready = 0;
    pthread_t thread{};
    pthread_create(&thread, nullptr, use_thread_variable, nullptr);
    while (ready.load() != 1) {}
    const auto check = [&](const heapmark::Explanation& why) {
        EXPECT_EQ(path_to(why, mine).root.kind, Root::Kind::thread_storage);
        EXPECT(contains(path_to(why, mine).root.name, "of_program"));
        EXPECT_EQ(path_to(why, mine).root.offset, 24);
        EXPECT_EQ(path_to(why, mine).root.thread, heapmark::this_thread());
    };
    {
        const heapmark::Explanation why = explain_since(g);
        check(why);
        bool found = false;
        for (const heapmark::Block& block : why.held())
            if (block.size == 74) {
                const Root root = why.path(block.address).root;
                found = contains(root.name, "of_program") && root.offset == 16;
            }
        EXPECT(found);
        EXPECT(contains(text_of(why), "thread_local '"));
    }
    sem_post(&go_on);
    pthread_join(thread, nullptr);

    const pid_t child = fork();
    if (child == 0) {
        check(explain_since(g));
        _exit(failed_checks.load());
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    std::free(of_program[3]);
}

void thread_variable_of_library()
{
    void* const library = dlopen(ROOTS_PLUGIN, RTLD_NOW);
    EXPECT(library != nullptr);
    if (library == nullptr) return;
    auto* const keep = reinterpret_cast<void (*)(void*)>(dlsym(library, "plugin_keep"));
    keep(nullptr); // its storage is made now
    const heapmark::Generation g = heapmark::mark("library");
    const Hidden kept = make_and(keep, 76);
    scrub_stack();
    const heapmark::Explanation why = explain_since(g);
    EXPECT_EQ(reach_of(why, kept), Reach::held);
    const Root root = path_to(why, kept).root;
    EXPECT_EQ(root.kind, Root::Kind::thread_storage);
    EXPECT(contains(root.name, "plugin_place"));
    EXPECT_EQ(root.offset, 8);
    EXPECT(contains(root.module, "roots_plugin"));
}

// ---------------------------------------------------------------- keys

[[gnu::noinline]] Hidden set_value(pthread_key_t key, std::size_t bytes)
{
    void* value = nullptr;
    const Hidden hidden = make(&value, bytes);
    pthread_setspecific(key, value);
    return hidden;
}

void keys()
{
    pthread_key_t made[100];
    for (pthread_key_t& key : made) pthread_key_create(&key, nullptr);
    const heapmark::Generation g = heapmark::mark("keys");
    const Hidden first = set_value(made[0], 81);
    const Hidden second_block = set_value(made[40], 82);
    const Hidden last = set_value(made[99], 83);
    scrub_stack(); // also where the frame of the question will lie
    const heapmark::Explanation why = explain_since(g);
    EXPECT_EQ(path_to(why, first).root.key, made[0]);
    EXPECT_EQ(path_to(why, second_block).root.key, made[40]);
    EXPECT_EQ(path_to(why, last).root.key, made[99]);
    EXPECT_EQ(path_to(why, last).root.kind, Root::Kind::thread_key);
    EXPECT(contains(text_of(why), "specific value of key " + std::to_string(made[99])));
}

// ---------------------------------------------------------------- what is to be called at the end

void free_at_exit(int, void* block) { std::free(block); }

[[gnu::noinline]] Hidden give_to_exit(std::size_t bytes)
{
    void* block = nullptr;
    const Hidden hidden = make(&block, bytes);
    EXPECT_EQ(on_exit(free_at_exit, block), 0);
    return hidden;
}

[[gnu::noinline]] Hidden give_to_thread_end(std::size_t bytes)
{
    void* block = nullptr;
    const Hidden hidden = make(&block, bytes);
    EXPECT_EQ(__cxxabiv1::__cxa_thread_atexit(std::free, block, &__dso_handle), 0);
    return hidden;
}

void exit_lists()
{
    const heapmark::Generation g = heapmark::mark("exit lists");
    std::vector<Hidden> given; // the C library has room for 32 of its own, and makes more
    for (std::size_t i = 0; i < 80; ++i) given.push_back(give_to_exit(200 + i));
    for (std::size_t i = 0; i < 20; ++i) given.push_back(give_to_thread_end(300 + i));
    const heapmark::Explanation why = explain_since(g);
    for (const Hidden& hidden : given) EXPECT_EQ(reach_of(why, hidden), Reach::held);
}

} // namespace

int main()
{
    functions();
    thread_variables();
    thread_variable_of_library();
    keys();
    exit_lists();
    return verdict();
}
