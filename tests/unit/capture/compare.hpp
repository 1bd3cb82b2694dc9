// SPDX-License-Identifier: BSL-1.0
// Holds capture_stack against the compiler's own unwinder: the oracle of this folder.
// compare_here() may be called anywhere, signal handlers included, once prepare_thread() has run on the thread.
#pragma once

#include "capture/capture.hpp"

#include <doctest/doctest.h>

#include <cstdint>

namespace capture_test {

inline constexpr unsigned oracle_depth_frames = 64;

struct Comparison {
    bool same = false;       ///< every way of capturing gave exactly the oracle's frames
    unsigned depth = 0;      ///< frames captured
    const char* way = "";    ///< the first way that differed
    unsigned differs_at = 0; ///< its first wrong frame
};

/// Takes the stack of the caller in every way there is (rule cache cold, warm, absent; stack bounds known or not), and
/// with _Unwind_Backtrace.
Comparison compare_here() noexcept;

/// The caller's stack by capture_stack alone, with a warm cache.
unsigned capture_here(std::uint64_t* frames, unsigned max_frames) noexcept;

/// Frees what a thread needs at its end.
class PreparedThread {
public:
    PreparedThread() noexcept;
    ~PreparedThread();
    PreparedThread(const PreparedThread&) = delete;
    PreparedThread& operator=(const PreparedThread&) = delete;
};

/// The zeroed cache of this thread, and its stack.
heapmark::capture::RuleCache* thread_cache() noexcept;
heapmark::platform::StackBounds thread_stack() noexcept;

} // namespace capture_test

/// Checks a Comparison; the depth keeps the test from passing on a stack that both sides cut short.
#define CHECK_SAME_STACK(comparison, least_depth)                                                                      \
    do {                                                                                                               \
        const ::capture_test::Comparison seen_ = (comparison);                                                         \
        INFO("way: ", ::doctest::String(seen_.way), ", first difference at frame ", seen_.differs_at);                 \
        CHECK(seen_.same);                                                                                             \
        CHECK(seen_.depth >= static_cast<unsigned>(least_depth));                                                      \
    } while (false)
