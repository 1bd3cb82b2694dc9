// SPDX-License-Identifier: BSL-1.0
// The rules that only traces with several threads or processes meet.
#include "match/matcher.hpp"

#include <doctest/doctest.h>

using namespace heapmark::match;

namespace {

class Warnings final : public Listener {
public:
    Warnings() : Listener(Verbosity::warnings) {}
    void warn(Place, std::string_view text) override { texts.emplace_back(text); }
    void log(Place, std::string_view) override { FAIL("nobody asked"); }

    std::vector<std::string> texts;
};

struct Trace {
    Warnings warnings;
    Matcher matcher{warnings};
    std::uint64_t line = 0;

    Matcher::Record next() { return {Place::of(0, ++line), "text"}; }
    Process& process(std::uint32_t id) { return matcher.process(id, "program", Place::of(0, line)); }
};

} // namespace

TEST_CASE("an address that is given away inside a realloc is nobody's fault")
{
    Trace trace;
    Process& process = trace.process(1);
    trace.matcher.allocate(process, 0x10, 100, trace.next());
    trace.matcher.begin_resize(process, 0x10, trace.next(), Release::by_realloc);
    trace.matcher.allocate(process, 0x10, 50, trace.next()); // another thread's
    trace.matcher.end_resize(process, 0x10, 0x20, 200, trace.next());
    trace.matcher.release(process, 0x10, trace.next());
    CHECK(trace.warnings.texts.empty());
    const std::vector<Leaks> leaks = trace.matcher.finish();
    REQUIRE(leaks.size() == 1);
    REQUIRE(leaks[0].blocks.size() == 1);
    CHECK(leaks[0].blocks[0].address == 0x20);
    CHECK(leaks[0].bytes == 200);
}

TEST_CASE("a realloc that fails, or never ends, leaves the block")
{
    Trace trace;
    Process& process = trace.process(1);
    trace.matcher.allocate(process, 0x10, 100, trace.next());
    trace.matcher.begin_resize(process, 0x10, trace.next(), Release::by_realloc);
    trace.matcher.end_resize(process, 0x10, 0, 200, trace.next());
    trace.matcher.allocate(process, 0x20, 7, trace.next());
    trace.matcher.begin_resize(process, 0x20, trace.next(), Release::by_realloc);
    const std::vector<Leaks> leaks = trace.matcher.finish();
    REQUIRE(leaks[0].blocks.size() == 2);
    CHECK(leaks[0].bytes == 107);
    CHECK(leaks[0].totals.failed == 1);
    CHECK(leaks[0].totals.reallocations == 0);
}

TEST_CASE("double frees name the line of the first, and unknown ones do not")
{
    Trace trace;
    Process& process = trace.process(7);
    trace.matcher.allocate(process, 0x10, 100, trace.next());
    trace.matcher.release(process, 0x10, trace.next());
    trace.matcher.release(process, 0x10, trace.next());
    trace.matcher.release(process, 0x30, trace.next());
    trace.matcher.reallocate(process, 0x10, 0x40, 1, trace.next());
    trace.matcher.allocate(process, 0x40, 2, trace.next());
    trace.matcher.release(process, 0x50, trace.next(), Release::right);
    const std::vector<std::string> wanted{
        "double free of 0x10 in process 7, released at line 2",
        "free of an address that was never allocated: 0x30 in process 7",
        "realloc after free of 0x10 in process 7, released at line 2",
        "allocated twice: 0x40 in process 7, allocated at line 5",
    };
    CHECK(trace.warnings.texts == wanted);
    const std::vector<Leaks> leaks = trace.matcher.finish();
    CHECK(leaks[0].totals.older == 1);
    CHECK(leaks[0].bytes == 2);
}

TEST_CASE("a child has its parent's blocks, but does not leak them")
{
    Trace trace;
    Process& parent = trace.process(1);
    trace.matcher.allocate(parent, 0x10, 100, trace.next());
    trace.matcher.allocate(parent, 0x20, 200, trace.next());
    trace.matcher.fork(parent, 2, {});
    Process& child = trace.process(2);
    trace.matcher.release(child, 0x10, trace.next());
    trace.matcher.release(parent, 0x10, trace.next());
    trace.matcher.allocate(child, 0x10, 5, trace.next());
    trace.matcher.fork(parent, 2, {}); // told again
    CHECK(trace.warnings.texts.empty());
    const std::vector<Leaks> leaks = trace.matcher.finish();
    REQUIRE(leaks.size() == 2);
    CHECK(leaks[0].bytes == 200);
    CHECK(leaks[1].bytes == 5);
    CHECK(leaks[1].excused_blocks == 1);
}
