// SPDX-License-Identifier: BSL-1.0
// Stops all other threads of the process and lets them go on. No ptrace, no process beside this one: each thread gets a
// signal and waits in its handler, with its registers written down.
//
// While the world is stopped, the caller may use pages of its own and raw system calls, and nothing that takes a lock:
// a stopped thread may be the holder of any, the allocator's and the loader's included.
#pragma once

#include "platform/live_threads.hpp"
#include "platform/page_vector.hpp"

#include <cstdint>

namespace heapmark::platform {

/// Everything of a thread that a pointer may lie in, besides memory.
struct ThreadContext {
    static constexpr unsigned register_count = 16;

    int system_id = 0;        ///< of gettid
    std::uint32_t thread = 0; ///< ThreadId; 0 when heapmark has not seen it yet
    LiveThreadIndex live = 0;
    StackBounds stack;                 ///< {0, 0} when not known
    std::uintptr_t stack_begin = 0;    ///< lowest address in use
    std::uintptr_t code_address = 0;   ///< that it would go on at
    std::uintptr_t thread_pointer = 0; ///< the C library's descriptor of the thread
    std::uintptr_t registers[register_count] = {};
    /// Where the system saved the vector registers: pointers travel in them, too. Empty when it did not tell.
    std::uintptr_t vectors_begin = 0;
    std::uintptr_t vectors_end = 0;
};

/// A thread that did not stop in time.
struct UnstoppedThread {
    int system_id;
    char name[16];
};

class StoppedWorld {
public:
    /// Returns when every thread has stopped, or after `limit_ns`. One at a time in a process: others wait for no one,
    /// so the caller holds a lock of its own.
    explicit StoppedWorld(std::uint64_t limit_ns) noexcept;
    ~StoppedWorld(); ///< lets the threads go on
    StoppedWorld(const StoppedWorld&) = delete;
    StoppedWorld& operator=(const StoppedWorld&) = delete;

    /// The other threads, as they stopped.
    [[nodiscard]] const PageVector<ThreadContext>& threads() const noexcept { return threads_; }
    [[nodiscard]] const PageVector<UnstoppedThread>& unstopped() const noexcept { return unstopped_; }
    /// Why threads may be missing in both lists; "" when none is.
    [[nodiscard]] const char* problem() const noexcept { return problem_; }
    [[nodiscard]] bool is_complete() const noexcept { return unstopped_.empty() && *problem_ == '\0'; }

private:
    struct Asked {
        int system_id;
        enum class State : std::uint8_t { waiting, stopped, gone } state;
    };

    bool ask_new_threads() noexcept;
    void ask(int system_id) noexcept;
    bool await_answers(std::uint64_t deadline_ns) noexcept;
    void take_answers() noexcept;
    void drop_the_gone() noexcept;
    void list_unstopped() noexcept;

    PageVector<Asked> asked_;
    PageVector<ThreadContext> threads_;
    PageVector<UnstoppedThread> unstopped_;
    PageVector<char> directory_;
    std::uint64_t signals_before_ = 0; ///< blocked in the calling thread
    std::uint32_t answers_taken_ = 0;
    const char* problem_ = "";
};

} // namespace heapmark::platform
