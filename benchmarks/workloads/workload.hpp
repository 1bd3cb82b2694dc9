// SPDX-License-Identifier: BSL-1.0
// What the workloads share: they run until a time is up and tell how many operations that were, so that a run under a
// slow tool takes no longer than a bare one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace bench {

struct Settings {
    unsigned threads = 1;
    double seconds = 0.25;
    std::size_t size = 0;   ///< old blocks of `million` and `lost`; bytes of the document of `json`
    bool scattered = false; ///< `million`: new blocks fill holes all over the heap instead of lying together
};

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// xorshift64*: a few instructions, so that what is measured is the heap.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
    std::uint64_t operator()()
    {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return state_ * 0x2545'f491'4f6c'dd1dU;
    }
    /// In [low, high).
    std::size_t between(std::size_t low, std::size_t high)
    {
        return low + static_cast<std::size_t>(((*this)() >> 32) * (high - low) >> 32);
    }

private:
    std::uint64_t state_;
};

/// One thread's share of a workload.
class Worker {
public:
    virtual ~Worker() = default;
    /// Some operations, some milliseconds at most where that can be; returns how many.
    virtual std::uint64_t work() = 0;
};

/// Runs one worker a thread, each for `seconds` after one round to warm up. Prints `ns_per_operation`: the reciprocal of
/// the sum of the threads' rates.
void run_workers(const Settings& settings, const std::function<Worker*(unsigned index)>& make);

/// Prints one "RESULT name number" line, which is what the comparison program reads.
void print_result(const char* name, double value);

/// Physical memory of the process now, and the most there was; bytes.
double resident_bytes();
double peak_resident_bytes();

/// Keeps the compiler from knowing what happens to the block.
inline void* opaque(void* block)
{
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

void run_pair(const Settings& settings);      ///< pairs at a shallow stack
void run_pair_deep(const Settings& settings); ///< the same pairs, 40 frames deeper
void run_pair_walk(const Settings& settings); ///< each pair at the end of another path of calls
void run_json(const Settings& settings);
void run_sqlite(const Settings& settings);
void run_handoff(const Settings& settings);
void run_mapping(const Settings& settings);
void run_million(const Settings& settings);
void run_lost(const Settings& settings);
void run_report(const Settings& settings);

} // namespace bench
