// SPDX-License-Identifier: BSL-1.0
// Threads: the state each gets when first seen, who started whom, and giving the caches back when one ends.
#include "capture/known_stacks.hpp"
#include "interpose/anchors.hpp"
#include "interpose/hooks.hpp"
#include "interpose/real_function.hpp"
#include "interpose/underlying.hpp"

#include "platform/live_threads.hpp"
#include "platform/options.hpp"
#include "platform/pages.hpp"
#include "platform/process_end.hpp"
#include "platform/stack_bounds.hpp"
#include "record/mappings.hpp"
#include "record/threads.hpp"
#include "trace/writer.hpp"

#include <cerrno>
#include <climits>
#include <cstring>
#include <pthread.h>
#include <unistd.h>

using namespace heapmark;

namespace heapmark::interpose {

const char thread_anchor = 0;

namespace {

using enum platform::ThreadState::Phase;

/// Everything that a thread remembers to be quick. Valid when zero.
struct Caches {
    capture::KnownStacks known;
    capture::StackCache stacks;
    record::SiteCache sites;
    capture::RuleCache rules;
};

/// Caches of ended threads, for the next ones: mapping and first touching the pages is most of what a thread costs.
/// What rules and sites say holds for every thread.
constinit std::atomic<Caches*> spare_caches[16]{};

Caches* take_caches() noexcept
{
    for (std::atomic<Caches*>& spare : spare_caches) {
        if (spare.load(std::memory_order_relaxed) == nullptr) continue;
        if (Caches* taken = spare.exchange(nullptr, std::memory_order_acquire)) return taken;
    }
    return static_cast<Caches*>(platform::map_pages(sizeof(Caches)));
}

void give_back(Caches* caches) noexcept
{
    std::memset(static_cast<void*>(&caches->stacks), 0, sizeof caches->stacks); // the stack that it tells of is gone
    for (std::atomic<Caches*>& spare : spare_caches) {
        Caches* none = nullptr;
        if (spare.compare_exchange_strong(none, caches, std::memory_order_release, std::memory_order_relaxed)) return;
    }
    platform::unmap_pages(caches, sizeof(Caches));
}

constinit std::atomic<int> end_key{-1}; ///< of pthread_key_create

void release_caches(platform::ThreadState& thread) noexcept
{
    platform::release_live_thread(thread.live_thread);
    thread.live_thread = 0;
    auto* caches = reinterpret_cast<Caches*>(thread.known_stacks); // the first of them
    // A signal handler may allocate here: first nothing may point to them.
    thread.known_stacks = nullptr;
    thread.stack_cache = nullptr;
    thread.rule_cache = nullptr;
    thread.site_cache = nullptr;
    thread.phase = ending;
    __asm__ volatile("" : : : "memory");
    if (caches != nullptr) give_back(caches);
    trace::end_thread();
    record::give_back_ledger(thread);
}

/// Runs in each round of thread-specific destructors. Other destructors may still allocate, so it puts itself back
/// until the last round (POSIX lets the value be set again; glibc makes PTHREAD_DESTRUCTOR_ITERATIONS rounds).
void thread_ends(void* rounds_done)
{
    const auto round = reinterpret_cast<std::uintptr_t>(rounds_done);
    const platform::Guard guard;
    if (round < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(static_cast<pthread_key_t>(end_key.load(std::memory_order_relaxed)),
                            reinterpret_cast<void*>(round + 1)); // NOLINT: a small number, not an address
    else
        release_caches(platform::thread_state);
}

void watch_thread_end() noexcept
{
    if (end_key.load(std::memory_order_acquire) < 0) {
        pthread_key_t made = 0;
        if (pthread_key_create(&made, thread_ends) != 0) return; // none left: the caches stay mapped
        int none = -1;
        if (!end_key.compare_exchange_strong(none, static_cast<int>(made), std::memory_order_acq_rel))
            pthread_key_delete(made);
    }
    pthread_setspecific(static_cast<pthread_key_t>(end_key.load(std::memory_order_acquire)),
                        reinterpret_cast<void*>(std::uintptr_t{1})); // NOLINT: the first round
}

/// What pthread_create hands to the new thread.
struct Start {
    void* (*function)(void*);
    void* argument;
    std::uint32_t parent;
    std::uint32_t generation;
    platform::LiveThreadIndex live_thread; ///< keeps the argument in sight: glibc's own record names this structure
    bool ignored;
};

void* run_thread(void* start_address)
{
    auto* handed_over = static_cast<Start*>(start_address);
    const Start start = *handed_over;
    platform::ThreadState& thread = platform::thread_state;
    {
        const platform::Guard guard;
        if (thread.phase == unseen) {
            thread.live_thread = start.live_thread;
            attach_thread(thread, start.parent, start.generation);
        } else { // a signal handler that allocated came first
            platform::release_live_thread(thread.live_thread);
            thread.live_thread = start.live_thread;
            platform::begin_live_thread(thread.live_thread, thread.thread, thread.stack);
        }
        if (start.ignored) ++thread.ignore_depth;
        underlying.free(handed_over);
    }
    return start.function(start.argument);
}

} // namespace

void attach_thread(platform::ThreadState& thread, std::uint32_t parent, std::uint32_t generation) noexcept
{
    if (thread.phase != unseen) return;
    const int saved_errno = errno;
    thread.phase = starting; // what follows may allocate, and is recorded without caches
    const platform::Guard guard;
    if (environ != nullptr) platform::load_options();
    record::start_accounting(static_cast<record::AccountKey>(platform::options().accounting));
    platform::watch_process_end();
    thread.thread = record::add_thread(parent, generation);
    thread.stack = platform::stack_of_this_thread();
    if (thread.live_thread == 0) thread.live_thread = platform::claim_live_thread(nullptr);
    platform::begin_live_thread(thread.live_thread, thread.thread, thread.stack);
    if (Caches* caches = take_caches()) {
        caches->known.begin(static_cast<unsigned>(platform::options().depth));
        thread.known_stacks = &caches->known;
        thread.stack_cache = &caches->stacks;
        thread.site_cache = &caches->sites;
        thread.rule_cache = &caches->rules;
    }
    watch_thread_end();
    thread.phase = in_use;
    trace::follow_options();
    if (platform::options().mappings != 0) record::start_mappings();
    errno = saved_errno;
}

} // namespace heapmark::interpose

extern "C" HEAPMARK_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                              void* (*function)(void*), void* argument)
{
    using namespace heapmark::interpose;
    using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static constinit RealFunction<Create> real("pthread_create");

    const platform::Guard guard; // dlsym's and the C library's memory for the thread are not the caller's
    platform::ThreadState& self = platform::thread_state;
    attach_thread(self, 0);
    Create* create = real.get();
    void* memory = underlying.malloc(sizeof(Start));
    if (memory == nullptr) return EAGAIN;
    const platform::LiveThreadIndex live_thread = platform::claim_live_thread(argument);
    auto* start = new (memory)
        Start{function, argument, self.thread, record::clock.generation(), live_thread, self.ignore_depth != 0};
    const int error = create(thread, attributes, run_thread, start);
    if (error != 0) {
        platform::release_live_thread(live_thread);
        underlying.free(start);
    }
    return error;
}
