// SPDX-License-Identifier: BSL-1.0
// Situation: the check is made while a worker thread runs.  Its argument block, its
// stack-only block and the tables libc allocates for it (thread-local storage, found
// by an interior pointer only) have all been called possibly lost.
//
// Right answer: while it runs: blocks made for and by the worker are survivors, all
// reachable, none lost: the worker's stack and registers count as places to look.  The
// block whose only pointer sits on the worker's stack is 640 bytes, from work.  After
// the join: none from work.
#include "case.h"
#include <atomic>
#include <cstdlib>
#include <thread>

std::atomic<int> stage{0};

CASE_NOINLINE void work()
{
    char* only_here = static_cast<char*>(std::malloc(640));
    CASE_KEEP(only_here);
    stage = 1;
    while (stage != 2) std::this_thread::yield();
    CASE_KEEP(only_here);
    std::free(only_here);
}

int main()
{
    CASE_MARK();
    std::thread t(work);
    while (stage != 1) std::this_thread::yield();
    CASE_SCRUB_STACK();
    CASE_EXPECT_FROM("work", 1, 640);
    CASE_EXPECT_LOST(0, 0);
    stage = 2;
    t.join();
    CASE_SCRUB_STACK();
    CASE_EXPECT_FROM("work", 0, 0);
    CASE_EXPECT_LOST(0, 0);
    return 0;
}
