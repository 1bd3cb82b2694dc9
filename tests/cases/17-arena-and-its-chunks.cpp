// SPDX-License-Identifier: BSL-1.0
// Situation: containers live in a monotonic arena; the arena takes chunks from the
// heap.  Elements are dropped without being destroyed, which is fine: release() gives
// every chunk back.  An arena that is itself forgotten is a real leak.
//
// Right answer:
//   while the arena is alive: a few survivors (chunks, not 200 strings), all reachable
//   after release(): none
//   after the first-chunk buffer supplied by the caller: nothing from the heap at all
//   forgotten arena: the arena object and its chunks are lost, all naming forget_arena
#include "case.h"
#include <memory_resource>
#include <string>
#include <vector>

using Texts = std::pmr::vector<std::pmr::string>;

std::pmr::monotonic_buffer_resource* live_arena;

CASE_NOINLINE void fill(std::pmr::memory_resource* from, int n)
{
    void* room = from->allocate(sizeof(Texts), alignof(Texts));
    Texts* t = new (room) Texts(from);           // never destroyed on purpose
    for (int i = 0; i < n; ++i) t->emplace_back("some text that does not fit a small string");
}

CASE_NOINLINE void forget_arena()
{
    auto* arena = new std::pmr::monotonic_buffer_resource(4096);
    fill(arena, 200);
    CASE_KEEP(arena);
}

int main()
{
    std::pmr::monotonic_buffer_resource arena(4096);
    live_arena = &arena;

    CASE_MARK();
    fill(&arena, 200);
    CASE_SCRUB_STACK();
    CASE_EXPECT_LOST(0, 0);
    arena.release();
    CASE_EXPECT_SURVIVORS(0, 0);

    CASE_MARK();
    static char first[65536];
    std::pmr::monotonic_buffer_resource on_buffer(first, sizeof first, std::pmr::null_memory_resource());
    fill(&on_buffer, 100);
    CASE_EXPECT_SURVIVORS(0, 0);

    CASE_MARK();
    forget_arena();
    CASE_SCRUB_STACK();
    CASE_EXPECT_FROM("forget_arena", 5, CASE_ANY);    // 1 arena + 4 growing chunks (libstdc++)
    CASE_EXPECT_LOST(5, CASE_ANY);
    return 0;
}
