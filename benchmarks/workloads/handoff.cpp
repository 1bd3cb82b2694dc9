// SPDX-License-Identifier: BSL-1.0
// Pairs of threads: one allocates, the other frees. An operation is one block that went that way.
#include "workload.hpp"

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <vector>

namespace bench {
namespace {

/// Blocks on their way, in the order made: one producer, one consumer.
class Ring {
public:
    bool push(void* block)
    {
        const unsigned end = end_.load(std::memory_order_relaxed);
        if (end - begin_.load(std::memory_order_acquire) == capacity) return false;
        blocks_[end % capacity] = block;
        end_.store(end + 1, std::memory_order_release);
        return true;
    }
    bool pop(void*& block)
    {
        const unsigned begin = begin_.load(std::memory_order_relaxed);
        if (begin == end_.load(std::memory_order_acquire)) return false;
        block = blocks_[begin % capacity];
        begin_.store(begin + 1, std::memory_order_release);
        return true;
    }

private:
    static constexpr unsigned capacity = 1024;
    void* blocks_[capacity]{};
    alignas(64) std::atomic<unsigned> begin_{0};
    alignas(64) std::atomic<unsigned> end_{0};
};

struct alignas(64) Pair {
    Ring ring;
    double rate = 0;
};

void produce(Pair& pair, unsigned index, double seconds)
{
    Random random(index + 1);
    const auto start = Clock::now();
    const auto send = [&pair](void* block) {
        while (!pair.ring.push(block)) std::this_thread::yield();
    };
    while (seconds_since(start) < seconds)
        for (int i = 0; i < 256; ++i) {
            auto* block = static_cast<char*>(opaque(std::malloc(random.between(16, 512))));
            if (block == nullptr) std::abort();
            *block = 1;
            send(block);
        }
    send(nullptr);
}

void consume(Pair& pair)
{
    const auto start = Clock::now();
    std::uint64_t count = 0;
    for (void* block = nullptr;;) {
        if (!pair.ring.pop(block)) {
            std::this_thread::yield();
            continue;
        }
        if (block == nullptr) break;
        std::free(block);
        ++count;
    }
    pair.rate = static_cast<double>(count) / seconds_since(start);
}

} // namespace

void run_handoff(const Settings& settings)
{
    std::vector<Pair> pairs(std::max(1U, settings.threads / 2));
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < pairs.size(); ++i) {
        threads.emplace_back(consume, std::ref(pairs[i]));
        threads.emplace_back(produce, std::ref(pairs[i]), i, settings.seconds);
    }
    for (std::thread& thread : threads) thread.join();
    double rate = 0;
    for (const Pair& pair : pairs) rate += pair.rate;
    print_result("ns_per_operation", 1e9 / rate);
}

} // namespace bench
