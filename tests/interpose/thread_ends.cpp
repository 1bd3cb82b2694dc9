// SPDX-License-Identifier: BSL-1.0
// Allocations of threads that end: thread-local destructors, all rounds of pthread_key destructors, pthread_exit,
// cancellation, detached threads, and a thread whose only allocation is in its last destructor.
#include "both_ways.hpp"

#include <climits>
#include <cstring>
#include <pthread.h>
#include <semaphore.h>
#include <string>

namespace {

constexpr int key_count = 3;
pthread_key_t keys[key_count];
std::atomic<int> rounds_seen{0};
void* carried[key_count];

/// Allocates in every round; what was allocated in one is freed in the next.
void key_destructor(void* value)
{
    const auto packed = reinterpret_cast<std::uintptr_t>(value);
    const std::size_t which = packed % 16;
    const std::size_t round = packed / 16;
    std::free(carried[which]);
    carried[which] = opaque(std::malloc(100 * round + which));
    ++rounds_seen;
    if (round < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(keys[which], reinterpret_cast<void*>(packed + 16)); // NOLINT: a number
}

struct ThreadLocal {
    ~ThreadLocal()
    {
        std::free(opaque(std::malloc(9999)));
        delete text;
    }
    std::string* text = nullptr;
};
thread_local ThreadLocal thread_local_object;

void set_keys()
{
    for (std::size_t which = 0; which < key_count; ++which)
        pthread_setspecific(keys[which], reinterpret_cast<void*>(16 + which)); // NOLINT: a number
}

void* returns(void*)
{
    thread_local_object.text = new std::string(500, 'x');
    set_keys();
    return opaque(std::malloc(11));
}

void* exits(void*)
{
    thread_local_object.text = new std::string(500, 'x');
    set_keys();
    pthread_exit(opaque(std::malloc(11)));
}

sem_t reached;

void clean_up(void* block) { std::free(block); }

void* is_cancelled(void*)
{
    thread_local_object.text = new std::string(500, 'x');
    set_keys();
    void* block = opaque(std::malloc(1234));
    pthread_cleanup_push(clean_up, block);
    sem_post(&reached);
    for (;;) pause();
    pthread_cleanup_pop(1);
    return nullptr;
}

pthread_key_t last_key;
void* from_last_destructor = nullptr;

/// Does nothing but wait for the last round.
void only_in_the_last_round(void* value)
{
    const auto round = reinterpret_cast<std::uintptr_t>(value);
    if (round < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(last_key, reinterpret_cast<void*>(round + 1)); // NOLINT: a number
    else
        from_last_destructor = opaque(std::malloc(321));
}

void* allocates_last(void*)
{
    pthread_setspecific(last_key, reinterpret_cast<void*>(std::uintptr_t{1})); // NOLINT: a number
    return nullptr;
}

std::atomic<bool> detached_done{false};
void* is_detached(void*)
{
    std::free(opaque(std::malloc(50)));
    detached_done = true;
    return nullptr;
}

/// What the last round of each key left.
void expect_rounds(const Since& since)
{
    EXPECT_EQ(rounds_seen.load(), key_count * PTHREAD_DESTRUCTOR_ITERATIONS);
    EXPECT(since.holds(key_count, key_count * 100 * PTHREAD_DESTRUCTOR_ITERATIONS + 0 + 1 + 2));
    for (void*& block : carried) {
        std::free(block);
        block = nullptr;
    }
    rounds_seen = 0;
    EXPECT(since.holds(0, 0));
}

void run(void* (*function)(void*), bool cancel)
{
    const Since since;
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, nullptr, function, nullptr), 0);
    if (cancel) {
        sem_wait(&reached);
        pthread_cancel(thread);
    }
    void* result = nullptr;
    EXPECT_EQ(pthread_join(thread, &result), 0);
    if (cancel)
        EXPECT(result == PTHREAD_CANCELED);
    else
        std::free(result);
    expect_rounds(since);
}

} // namespace

int main()
{
    sem_init(&reached, 0, 0);
    // More keys than the library's own, some made before it made its own and some after.
    for (pthread_key_t& key : keys) pthread_key_create(&key, key_destructor);
    pthread_key_create(&last_key, only_in_the_last_round);

    pthread_t warm; // cancellation loads libgcc_s
    pthread_create(&warm, nullptr, is_cancelled, nullptr);
    sem_wait(&reached);
    pthread_cancel(warm);
    pthread_join(warm, nullptr);
    for (void*& block : carried) {
        std::free(block);
        block = nullptr;
    }
    rounds_seen = 0;

    for (int i = 0; i < 20; ++i) {
        run(returns, false);
        run(exits, false);
        run(is_cancelled, true);
    }

    const Since since;
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, nullptr, allocates_last, nullptr), 0);
    EXPECT_EQ(pthread_join(thread, nullptr), 0);
    EXPECT(since.holds(1, 321));
    std::free(from_last_destructor);
    EXPECT(since.holds(0, 0));

    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < 50; ++i) {
        detached_done = false;
        EXPECT_EQ(pthread_create(&thread, &detached, is_detached, nullptr), 0);
        while (!detached_done) usleep(100);
    }
    EXPECT(since.holds(0, 0));
    return verdict();
}
