// SPDX-License-Identifier: BSL-1.0
// Stacks through the code that compilers make: with and without frame pointers, realigned, growing, tail-called,
// called back from libraries, with exceptions in flight.
#include "compare.hpp"
#include "shapes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace capture_test;

namespace {

Comparison seen;

void look() noexcept { seen = compare_here(); }

int compare_ints(const void* a, const void* b)
{
    look();
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

struct LooksWhenDestroyed {
    ~LooksWhenDestroyed() { look(); }
};

[[gnu::noinline]] void throw_through(int depth)
{
    LooksWhenDestroyed local;
    if (depth == 0) throw std::runtime_error("thrown by the test");
    throw_through(depth - 1);
    asm volatile("");
}

Comparison seen_in_static_init = [] {
    const PreparedThread prepared;
    return compare_here();
}();

} // namespace

TEST_CASE("plain and recursive code")
{
    const PreparedThread prepared;
    look();
    CHECK_SAME_STACK(seen, 5);
    for (const int depth : {1, 2, 5, 20, 31, 32, 33, 100}) {
        shapes::recurse(depth, look);
        CHECK_SAME_STACK(seen, std::min(depth + 5, 32));
    }
}

TEST_CASE("tail calls leave no frame")
{
    const PreparedThread prepared;
    shapes::tail_call(3, look);
    CHECK_SAME_STACK(seen, 5);
}

TEST_CASE("frames of changing size: alloca")
{
    const PreparedThread prepared;
    for (const std::size_t bytes : {1U, 100U, 5000U, 100000U}) {
        shapes::grow(bytes, look);
        CHECK_SAME_STACK(seen, 6);
        shapes::grow_and_recurse(bytes, 4, look);
        CHECK_SAME_STACK(seen, 10);
    }
}

TEST_CASE("large frames")
{
    const PreparedThread prepared;
    shapes::large_frame(look);
    CHECK_SAME_STACK(seen, 6);
}

TEST_CASE("over-aligned locals, with and without alloca")
{
    const PreparedThread prepared;
    shapes::aligned<32>(look);
    CHECK_SAME_STACK(seen, 6);
    shapes::aligned<64>(look);
    CHECK_SAME_STACK(seen, 6);
    shapes::aligned<4096>(look);
    CHECK_SAME_STACK(seen, 6);
    shapes::aligned_and_growing(300, look);
    CHECK_SAME_STACK(seen, 6);
    shapes::aligned_recursion(9, look);
    CHECK_SAME_STACK(seen, 14);
}

TEST_CASE("code that realigns every frame, and code that keeps frame pointers")
{
    const PreparedThread prepared;
    shapes::recurse_realigning(7, look);
    CHECK_SAME_STACK(seen, 12);
    shapes::recurse_with_frame_pointer(7, look);
    CHECK_SAME_STACK(seen, 12);
    // Mixed, so that the frame register wanders through frames that use it otherwise.
    shapes::recurse_with_frame_pointer(2, [] { shapes::busy_registers(3, [] { shapes::grow(64, look); }); });
    CHECK_SAME_STACK(seen, 12);
}

TEST_CASE("callbacks of the C library")
{
    const PreparedThread prepared;
    std::vector<int> values{5, 3, 9, 1};
    std::qsort(values.data(), values.size(), sizeof(int), compare_ints);
    CHECK_SAME_STACK(seen, 8);
    const int key = 3;
    std::bsearch(&key, values.data(), values.size(), sizeof(int), compare_ints);
    CHECK_SAME_STACK(seen, 6);
}

TEST_CASE("callbacks of the C++ library")
{
    const PreparedThread prepared;
    std::vector<std::string> values;
    for (int i = 0; i < 100; ++i) values.push_back(std::to_string(i * 7919 % 101));
    unsigned differences = 0;
    std::sort(values.begin(), values.end(), [&](const std::string& a, const std::string& b) {
        const Comparison one = compare_here();
        if (!one.same) ++differences;
        return a < b;
    });
    CHECK(differences == 0);
    std::function<void(int)> nested = [&](int depth) {
        if (depth == 0) return look();
        nested(depth - 1);
    };
    nested(4);
    CHECK_SAME_STACK(seen, 6);
}

TEST_CASE("exceptions in flight")
{
    const PreparedThread prepared;
    try {
        throw_through(6);
    } catch (const std::exception&) {
        CHECK_SAME_STACK(seen, 7); // in a destructor that the unwinder called
        look();
        CHECK_SAME_STACK(seen, 5); // in the handler
        try {
            throw_through(1);
        } catch (...) {
            CHECK_SAME_STACK(seen, 5);
        }
    }
}

TEST_CASE("before main") { CHECK_SAME_STACK(seen_in_static_init, 3); }

TEST_CASE("threads, from their first function")
{
    Comparison in_thread;
    std::thread([&] {
        const PreparedThread prepared;
        in_thread = compare_here();
    }).join();
    CHECK_SAME_STACK(in_thread, 3);
    std::thread([&] {
        const PreparedThread prepared;
        shapes::recurse(40, look);
        in_thread = seen;
    }).join();
    CHECK_SAME_STACK(in_thread, 32);
}

TEST_CASE("every depth limit gives the same prefix")
{
    const PreparedThread prepared;
    static std::uint64_t frames[33][33];
    static unsigned counts[33];
    static unsigned limit;
    for (auto& row : frames) std::fill(std::begin(row), std::end(row), std::uint64_t{7});
    for (limit = 0; limit <= 32; ++limit)
        shapes::recurse(40, [] { counts[limit] = capture_here(frames[limit], limit); });
    for (limit = 0; limit <= 32; ++limit) {
        CAPTURE(limit);
        CHECK(counts[limit] == limit);
        CHECK(std::equal(frames[limit], frames[limit] + limit, frames[32]));
        CHECK(frames[limit][limit] == 7); // nothing behind the limit was written
    }
}

TEST_CASE("errno is kept")
{
    const PreparedThread prepared;
    std::uint64_t frames[32];
    errno = 4711;
    heapmark::capture::capture_stack({1, 2, 3}, {}, nullptr, frames, 32);
    capture_here(frames, 32);
    CHECK(errno == 4711);
}
