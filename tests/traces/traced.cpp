// SPDX-License-Identifier: BSL-1.0
// A program whose heap is busy in a known way: what it did is counted here, and printed for those who compare.
//     traced THREADS ROUNDS [endless]
// Blocks wander between threads. "endless" says after each thousand rounds, on standard output, how many were done.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t held = 100;
constexpr std::size_t places = 64;

struct Counts {
    std::uint64_t allocations = 0;
    std::uint64_t resizes = 0;
    std::uint64_t releases = 0;
};

std::atomic<void*> exchange[places];

void release(void* block, Counts& counts)
{
    if (block == nullptr) return;
    ++counts.releases;
    std::free(block);
}

__attribute__((noinline)) void* allocate(std::size_t bytes, Counts& counts)
{
    ++counts.allocations;
    return std::malloc(bytes);
}

void work(std::uint32_t seed, std::uint64_t rounds, bool endless, Counts& total)
{
    Counts counts;
    void* mine[held] = {};
    std::uint32_t state = seed * 2654435761U + 1;
    for (std::uint64_t round = 0; endless || round < rounds; ++round) {
        state = state * 1664525 + 1013904223;
        void*& block = mine[(state >> 8) % held];
        release(block, counts);
        block = allocate(state % 500 + 1, counts);
        if (round % 10 == 0) {
            ++counts.resizes;
            block = std::realloc(block, state % 900 + 1);
        }
        if (round % 7 == 0) block = exchange[(state >> 20) % places].exchange(block);
        if (endless && round % 1000 == 999)
            dprintf(STDOUT_FILENO, "%llu\n", static_cast<unsigned long long>(round + 1));
    }
    for (void* block : mine) release(block, counts);
    total = counts;
}

} // namespace

int main(int argument_count, char** arguments)
{
    const auto threads = static_cast<std::size_t>(argument_count > 1 ? std::atol(arguments[1]) : 4);
    const auto rounds = static_cast<std::uint64_t>(argument_count > 2 ? std::atoll(arguments[2]) : 10000);
    const bool endless = argument_count > 3;
    std::vector<Counts> counts(threads);
    std::vector<std::thread> running;
    running.reserve(threads);
    for (std::size_t i = 0; i < threads; ++i)
        running.emplace_back(work, static_cast<std::uint32_t>(i), rounds, endless, std::ref(counts[i]));
    for (std::thread& thread : running) thread.join();
    Counts all;
    for (std::atomic<void*>& place : exchange) release(place.load(), all);
    for (const Counts& some : counts) {
        all.allocations += some.allocations;
        all.resizes += some.resizes;
        all.releases += some.releases;
    }
    static_cast<void>(allocate(77, all)); // lost
    std::printf("%llu %llu %llu\n", static_cast<unsigned long long>(all.allocations),
                static_cast<unsigned long long>(all.resizes), static_cast<unsigned long long>(all.releases));
    return 0;
}
