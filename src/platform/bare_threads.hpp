// SPDX-License-Identifier: BSL-1.0
// Threads of the system that the C library does not know: for work on plain memory while all others are stopped, one of
// which may hold a lock that starting a thread takes.
#pragma once

#include <cstddef>

namespace heapmark::platform {

/// Processors that this process may run on and that have nothing to do, besides the one it runs on. A thread that waits
/// for its turn would keep those waiting that share work with it.
unsigned idle_processors() noexcept;

class BareThreads {
public:
    static constexpr unsigned most = 15;

    /// Starts up to `wanted` threads that call work(argument) once; fewer where the system gives no more. They have the
    /// caller's signal mask and share its thread-local storage: `work` may use none, so no lock, no allocator, no errno.
    BareThreads(unsigned wanted, void (*work)(void* argument), void* argument) noexcept;
    ~BareThreads(); ///< waits for them to return
    BareThreads(const BareThreads&) = delete;
    BareThreads& operator=(const BareThreads&) = delete;

    [[nodiscard]] unsigned count() const noexcept { return count_; }

private:
    static constexpr std::size_t stack_bytes = std::size_t{64} << 10;

    struct Thread {
        void* stack;
        int running; ///< the system's number, until the system makes it 0
    };
    Thread threads_[most] = {};
    unsigned count_ = 0;
};

} // namespace heapmark::platform
