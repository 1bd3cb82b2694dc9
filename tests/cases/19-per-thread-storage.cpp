// SPDX-License-Identifier: BSL-1.0
// Situation: memory held only through thread storage: a C++ thread_local, a POSIX key
// with a low number (stored in the thread block itself) and one with a high number
// (stored in a table libc allocates on first use).  Tools that look at globals and
// stacks only call these lost.
//
// Right answer: in the main thread: the three blocks (tagged 501, 502, 503 bytes) are
// survivors, reachable.  In a worker thread that has ended and been joined: its three
// are gone (destructors ran at thread end), so no survivors of those sizes; the
// library's own per-thread leftovers are not lost either.
#include "case.h"
#include <cstdlib>
#include <pthread.h>

struct Holder {
    char* p = nullptr;
    ~Holder() { std::free(p); }
};
thread_local Holder held;
pthread_key_t low_key, high_key;

CASE_NOINLINE char* grab(std::size_t n) { char* p = static_cast<char*>(std::malloc(n)); CASE_KEEP(p); return p; }

CASE_NOINLINE void fill_thread_storage()
{
    held.p = grab(501);
    pthread_setspecific(low_key, grab(502));
    pthread_setspecific(high_key, grab(503));
}

void* worker(void*)
{
    fill_thread_storage();
    return nullptr;
}

int main()
{
    pthread_key_create(&low_key, std::free);
    pthread_key_t k = low_key;
    for (int i = 0; i < 80; ++i) pthread_key_create(&k, std::free);
    high_key = k;

    CASE_MARK();
    pthread_t t;
    if (pthread_create(&t, nullptr, worker, nullptr) != 0) return 1;
    pthread_join(t, nullptr);
    CASE_SCRUB_STACK();
    CASE_EXPECT_FROM("grab", 0, 0);
    CASE_EXPECT_LOST(0, 0);

    CASE_MARK();
    fill_thread_storage();
    CASE_SCRUB_STACK();
    CASE_EXPECT_FROM("grab", 3, 501 + 502 + 503);
    CASE_EXPECT_LOST(0, 0);
    return 0;
}
