// SPDX-License-Identifier: BSL-1.0
// Random use of the heap that notices when it is no longer intact: every block keeps a pattern until it is freed.
#pragma once

#include "expect.hpp"

#include <cstdlib>
#include <cstring>

class Random {
public:
    explicit Random(std::uint64_t seed) noexcept : state_(seed * 2 + 1) {}
    std::uint64_t operator()() noexcept // xorshift64*, Vigna 2014
    {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return state_ * 0x2545'F491'4F6C'DD1DU;
    }
    std::size_t below(std::size_t limit) noexcept { return operator()() % limit; }

private:
    std::uint64_t state_;
};

/// `steps` random mallocs, reallocs and frees; gives everything back.
inline void use_heap_at_random(std::uint64_t seed, int steps = 10'000)
{
    constexpr std::size_t slots = 300;
    struct Slot {
        unsigned char* block;
        std::size_t size;
        unsigned char pattern;
    };
    static Slot slot[slots];
    Random random(seed);
    const auto intact = [](const Slot& one) {
        for (std::size_t i = 0; i < one.size; ++i)
            if (one.block[i] != one.pattern) return false;
        return true;
    };
    int damaged = 0;
    for (int step = 0; step < steps; ++step) {
        Slot& one = slot[random.below(slots)];
        if (one.block != nullptr && !intact(one)) ++damaged;
        const std::size_t size = 1 + random.below(random.below(8) == 0 ? 20'000 : 200);
        if (one.block == nullptr || random.below(3) == 0)
            one.block = static_cast<unsigned char*>(std::realloc(one.block, size));
        else {
            std::free(one.block);
            one = {};
            continue;
        }
        one.size = size;
        one.pattern = static_cast<unsigned char>(random());
        std::memset(one.block, one.pattern, size);
    }
    for (Slot& one : slot) {
        if (one.block != nullptr && !intact(one)) ++damaged;
        std::free(one.block);
        one = {};
    }
    EXPECT_EQ(damaged, 0);
}
