// SPDX-License-Identifier: BSL-1.0
// Allocations while the process ends: handlers of atexit and at_quick_exit, thread-local and static destructors.
// The argument says how it ends; the handler that runs last gives the verdict.
#include "both_ways.hpp"

#include <cstring>
#include <string>

namespace {

Since* since = nullptr;
void* carried = nullptr;
int steps = 0;

/// Every step frees what the one before it allocated.
void step()
{
    ++steps;
    std::free(carried);
    carried = opaque(std::malloc(static_cast<std::size_t>(1000 + steps)));
    EXPECT(since->holds(1, static_cast<std::uint64_t>(1000 + steps)));
}

struct StaticObject {
    ~StaticObject() { step(); }
} static_object;

struct ThreadLocalObject {
    ~ThreadLocalObject() { step(); }
    int number = 0;
};
thread_local ThreadLocalObject thread_local_object;

int expected_steps = 0;

void last()
{
    std::free(carried);
    EXPECT(since->holds(0, 0));
    EXPECT_EQ(steps, expected_steps);
    _exit(verdict());
}

// Run after every handler of atexit and every static destructor, those of libraries aside.
[[gnu::destructor(101)]] void after_static_destructors() { last(); }

} // namespace

int main(int count, char** arguments)
{
    static Since begun;
    since = &begun;
    const bool quick = count > 1 && std::strcmp(arguments[1], "quick_exit") == 0;
    thread_local_object.number = 1;
    if (quick) {
        std::at_quick_exit(last);
        for (int i = 0; i < 40; ++i) std::at_quick_exit(step); // beyond those that need no memory
        expected_steps = 40;
        static Since later;
        since = &later;
        std::quick_exit(1);
    }
    for (int i = 0; i < 40; ++i) std::atexit(step);
    expected_steps = 42;
    static Since later;
    since = &later;
    if (count > 1) std::exit(1);
    return 1;
}
