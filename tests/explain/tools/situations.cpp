// SPDX-License-Identifier: BSL-1.0
// Situations that tools which look for lost memory are tested with, one a run: situations NAME. The blocks that are asked
// about have sizes of 7,001 bytes and up, by which compare.py finds them in reports. Built with heapmark (WITH_HEAPMARK) it
// prints "<size> <class>" when it ends; without, the tool reports.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef WITH_HEAPMARK
#include <heapmark/heapmark.hpp>
#endif
#ifdef WITH_LSAN
#include <sanitizer/lsan_interface.h>
#endif

namespace {

template <class T>
void keep(T* place)
{
    __asm__ volatile("" : : "g"(place) : "memory");
}

void* block(std::size_t bytes)
{
    void* made = std::calloc(1, bytes);
    keep(made);
    return made;
}

void* volatile global; // or the compiler sees that nobody reads it
void* global_array[4];
char packed_global[24];
thread_local void* thread_place;
pthread_key_t key;
std::atomic<bool> ready{false};

void start(void* (*run)(void*))
{
    pthread_t thread{};
    pthread_create(&thread, nullptr, run, nullptr);
    pthread_detach(thread);
    while (!ready) usleep(100);
}

[[noreturn]] void wait_for_ever()
{
    ready = true;
    for (;;) pause();
}

// ---------------------------------------------------------------- lost or not

void forgotten() { keep(block(7001)); }

void chain()
{
    auto** root = static_cast<void**>(block(7001));
    root[3] = block(7002);
}

void cycle()
{
    auto** a = static_cast<void**>(block(7001));
    auto** b = static_cast<void**>(block(7002));
    a[1] = b;
    b[1] = a;
}

struct Member {
    std::shared_ptr<Member> other;
    char room[7008 - sizeof(std::shared_ptr<Member>)];
};
void shared_cycle()
{
    auto* a = new std::shared_ptr<Member>(new Member);
    (*a)->other = *a;
    delete a;
}

void by_global() { global = block(7001); }
void by_static()
{
    static void* place;
    place = block(7001);
    keep(&place);
}
void interior() { global = static_cast<char*>(block(7001)) + 3000; }
void past_the_end() { global = static_cast<char*>(block(7001)) + 7001; }
void unaligned_place()
{
    void* made = block(7001);
    std::memcpy(packed_global + 3, &made, sizeof made);
    keep(&packed_global);
}
void from_freed_block()
{
    auto** holder = static_cast<void**>(block(600));
    holder[40] = block(7001);
    global = holder;
    std::free(holder);
    global = nullptr;
}
void low_tag() { global = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(block(7001)) | 1); }
void high_tag()
{
    global = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(block(7001)) | std::uintptr_t{0xab} << 56);
}
void chain_of_global()
{
    auto** root = static_cast<void**>(block(7001));
    root[2] = block(7002);
    global_array[1] = root;
    keep(&global_array);
}

// ---------------------------------------------------------------- threads

void by_thread_local()
{
    thread_place = block(7001);
    keep(&thread_place);
}
void by_other_thread_local()
{
    start([](void*) -> void* {
        thread_place = block(7001);
        keep(&thread_place);
        wait_for_ever();
    });
}
void by_key()
{
    pthread_key_create(&key, nullptr);
    start([](void*) -> void* {
        pthread_setspecific(key, block(7001));
        wait_for_ever();
    });
}
void by_late_key()
{
    for (int i = 0; i < 100; ++i) pthread_key_create(&key, nullptr);
    start([](void*) -> void* {
        pthread_setspecific(key, block(7001));
        wait_for_ever();
    });
}
void by_other_stack()
{
    start([](void*) -> void* {
        void* local[3] = {};
        keep(&local);
        local[1] = block(7001);
        wait_for_ever();
    });
}
void by_ended_thread()
{
    pthread_t thread{};
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
            thread_place = block(7001);
            keep(&thread_place);
            return nullptr;
        },
        nullptr);
    pthread_join(thread, nullptr);
}

// ---------------------------------------------------------------- other memory

ucontext_t main_context;
ucontext_t fiber_context;
void fiber()
{
    void* local[3] = {};
    keep(&local);
    local[1] = block(7001);
    swapcontext(&fiber_context, &main_context);
}
void run_fiber(void* stack, std::size_t bytes)
{
    getcontext(&fiber_context);
    fiber_context.uc_stack.ss_sp = stack;
    fiber_context.uc_stack.ss_size = bytes;
    fiber_context.uc_link = &main_context;
    makecontext(&fiber_context, fiber, 0);
    swapcontext(&main_context, &fiber_context);
}
void fiber_on_heap() { run_fiber(global_array[0] = block(256 << 10), 256 << 10); }
void* pages(std::size_t bytes)
{
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
void fiber_on_pages() { run_fiber(global_array[0] = pages(256 << 10), 256 << 10); }
void by_mapped_memory()
{
    global_array[0] = pages(4096);
    static_cast<void**>(global_array[0])[5] = block(7001);
}
void by_unloaded_library()
{
    void* library = dlopen(getenv("SITUATIONS_LIBRARY"), RTLD_NOW);
    if (library == nullptr) std::abort();
    *static_cast<void**>(dlsym(library, "library_place")) = block(7001);
    dlclose(library);
}
void by_loaded_library()
{
    void* library = dlopen(getenv("SITUATIONS_LIBRARY"), RTLD_NOW);
    if (library == nullptr) std::abort();
    *static_cast<void**>(dlsym(library, "library_place")) = block(7001);
}
void large() { keep(block(std::size_t{200} << 20)); }
void large_held() { global = block(std::size_t{200} << 20); }

// ---------------------------------------------------------------- processes, regions

void in_child()
{
    const pid_t child = fork();
    if (child == 0) return forgotten();
    waitpid(child, nullptr, 0);
    global = nullptr;
}
void disabled()
{
#ifdef WITH_HEAPMARK
    heapmark::ignore quiet;
#endif
#ifdef WITH_LSAN
    __lsan::ScopedDisabler quiet;
#endif
    forgotten();
}

struct Situation {
    const char* name;
    void (*run)();
};
constexpr Situation situations[] = {
    {"forgotten", forgotten},
    {"chain", chain},
    {"cycle", cycle},
    {"shared_cycle", shared_cycle},
    {"by_global", by_global},
    {"by_static", by_static},
    {"chain_of_global", chain_of_global},
    {"interior", interior},
    {"past_the_end", past_the_end},
    {"unaligned_place", unaligned_place},
    {"from_freed_block", from_freed_block},
    {"low_tag", low_tag},
    {"high_tag", high_tag},
    {"by_thread_local", by_thread_local},
    {"by_other_thread_local", by_other_thread_local},
    {"by_key", by_key},
    {"by_late_key", by_late_key},
    {"by_other_stack", by_other_stack},
    {"by_ended_thread", by_ended_thread},
    {"fiber_on_heap", fiber_on_heap},
    {"fiber_on_pages", fiber_on_pages},
    {"by_mapped_memory", by_mapped_memory},
    {"by_loaded_library", by_loaded_library},
    {"by_unloaded_library", by_unloaded_library},
    {"large", large},
    {"large_held", large_held},
    {"in_child", in_child},
    {"disabled", disabled},
};

/// Away from the top of wipe's frame, which its array does not reach.
[[gnu::noinline]] void run_deeper(void (*run)())
{
    volatile char room[4096];
    room[0] = 0;
    keep(&room[0]);
    run();
    keep(&room[0]);
}

/// So that no word of what ran is left on the stack.
[[gnu::noinline]] void wipe()
{
    volatile char dead[65536];
    for (volatile char& byte : dead) byte = 0;
    keep(&dead[0]);
}

#ifdef WITH_HEAPMARK
heapmark::Generation first;

void tell()
{
    const heapmark::Explanation why = heapmark::explain(heapmark::survivors(first));
    if (!why.complete()) std::printf("incomplete: %s\n", why.problem().data());
    for (const heapmark::Block& lost : why.lost())
        std::printf("%zu %s\n", lost.size,
                    why.reach(lost.address) == heapmark::Reach::lost ? "lost" : "indirectly lost");
    for (const heapmark::Block& held : why.held()) std::printf("%zu held\n", held.size);
    std::fflush(stdout);
}
#endif

} // namespace

int main(int count, char** arguments)
{
#ifdef WITH_HEAPMARK
    first = heapmark::mark("situation");
    std::atexit(tell);
#endif
    for (const Situation& situation : situations) {
        if (count < 2) std::puts(situation.name);
        if (count < 2 || std::strcmp(situation.name, arguments[1]) != 0) continue;
        run_deeper(situation.run);
        wipe();
        return 0;
    }
    return count < 2 ? 0 : 2;
}
