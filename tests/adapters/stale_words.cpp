// SPDX-License-Identifier: BSL-1.0
// Addresses of freed blocks, which lie about where nobody uses them any more: what a test loses in those places is lost.
#include <heapmark/adapter.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::size_t block_bytes = 312; // a size that nothing else here asks for
constexpr std::size_t blocks = 6;        // which glibc keeps at hand for the thread

void* make()
{
    void* block = std::malloc(block_bytes);
    heapmark::escape(block);
    return block;
}

/// Memory of before main, with the addresses of blocks that were freed before main.
struct Start {
    std::vector<void*> emptied;

    Start()
    {
        emptied.reserve(blocks);
        for (std::size_t i = 0; i < blocks; ++i) emptied.push_back(make());
        for (void* block : emptied) std::free(block);
        emptied.clear();
    }
    [[nodiscard]] bool has(const void* address) const
    {
        return std::find(emptied.data(), emptied.data() + blocks, address) != emptied.data() + blocks;
    }
} start;

/// Makes blocks in the places of freed ones, and forgets them.
[[gnu::noinline]] std::size_t lose(void* const* freed)
{
    std::size_t in_those_places = 0;
    for (std::size_t i = 0; i < blocks; ++i) {
        const void* block = make();
        in_those_places += static_cast<std::size_t>(std::count(freed, freed + blocks, block));
    }
    return in_those_places;
}

/// What a framework calls when a test begins: the frame of its caller lies above its own.
[[gnu::noinline]] void begin(heapmark::TestSession& session, bool tells_of_frames)
{
    session.enter("test", tells_of_frames ? __builtin_frame_address(0) : nullptr);
}

struct Run {
    heapmark::Verdict verdict;
    std::size_t in_those_places = 0;
    void* given = nullptr;
};

/// A runner whose frame has addresses of freed blocks while it runs a test.
[[gnu::noinline]] Run run(bool tells_of_frames, void* (*keep)(), bool in_suite = false)
{
    heapmark::TestOptions options;
    options.policy = heapmark::Policy::lost;
    heapmark::TestSession session(options);
    session.enter("first"); // from here on blocks that are freed are handed out again
    static_cast<void>(session.leave());
    Run run;
    void* freed[blocks];
    for (void*& block : freed) block = make();
    for (void* block : freed) std::free(block);
    heapmark::escape(&freed[0]);
    if (in_suite) begin(session, tells_of_frames);
    begin(session, tells_of_frames);
    void* volatile given = keep == nullptr ? nullptr : keep();
    if (keep == nullptr) run.in_those_places = lose(freed);
    heapmark::wipe_dead_stack();
    run.verdict = session.leave();
    if (in_suite) static_cast<void>(session.leave());
    run.given = given;
    heapmark::escape(&freed[0]);
    return run;
}

} // namespace

TEST_CASE("what a runner's frame contained before the test holds nothing of the test's")
{
    const Run told = run(true, nullptr);
    REQUIRE_MESSAGE(told.in_those_places == blocks, "malloc did not use the places again, so nothing is tried here");
    CHECK(told.verdict.left.blocks == blocks);
    CHECK(told.verdict.held.blocks == 0);
}

TEST_CASE("so does what was there before the suite")
{
    const Run told = run(true, nullptr, true);
    REQUIRE(told.in_those_places == blocks);
    CHECK(told.verdict.left.blocks == blocks);
    CHECK(told.verdict.held.blocks == 0);
}

TEST_CASE("where nothing is said of the callers, they may hold it")
{
    const Run untold = run(false, nullptr);
    REQUIRE(untold.in_those_places == blocks);
    CHECK(untold.verdict.left.blocks == 0);
    CHECK(untold.verdict.held.blocks == blocks);
}

TEST_CASE("what a runner's frame got since the test began holds the test's memory")
{
    const Run kept = run(true, make);
    CHECK(kept.verdict.left.blocks == 0);
    CHECK(kept.verdict.held.blocks == 1);
    std::free(kept.given);
}

TEST_CASE("what is made anew in the place of a block that a runner's frame had is held")
{
    heapmark::TestSession session(heapmark::TestOptions{});
    void* volatile kept = make();
    begin(session, true);
    void* const before = kept;
    std::free(before);
    kept = make();
    REQUIRE_MESSAGE(kept == before, "malloc did not use the place again, so nothing is tried here");
    const heapmark::Verdict verdict = session.leave();
    CHECK(verdict.left.blocks == 0);
    CHECK(verdict.held.blocks == 1);
    std::free(kept);
}

TEST_CASE("what a caller keeps in a register is held")
{
    heapmark::TestSession session(heapmark::TestOptions{});
    session.enter("test");
    void* const block = make(); // not on the stack, when optimised
    const heapmark::Verdict verdict = session.leave();
    CHECK(verdict.left.blocks == 0);
    CHECK(verdict.held.blocks == 1);
    std::free(block);
}

TEST_CASE("blocks that were freed before the first test are not handed out again")
{
    std::size_t in_those_places = 0;
    std::vector<void*> made;
    for (std::size_t i = 0; i < 4 * blocks; ++i) {
        made.push_back(make());
        in_those_places += start.has(made.back()) ? 1 : 0;
    }
    for (void* block : made) std::free(block);
    CHECK(in_those_places == 0);
}
