// SPDX-License-Identifier: BSL-1.0
// Random call trees through functions whose frames have every shape, each built in several ways: what the stack cache
// is tried on. A tree grows and shrinks as calls of real programs do: small steps mostly, large ones at times.
#pragma once

#include <csetjmp>
#include <cstdint>
#include <span>

namespace capture_test {

struct Wanderer;
using Stop = void (*)(Wanderer&);

struct Wanderer {
    std::span<const Stop> stops; ///< the functions to call
    Stop look;                   ///< called at random places, any number of frames down
    std::uint64_t random;        ///< never 0
    int looks_left;
    int most_deep;
    int depth = 0;
    int aim = 1;                    ///< depth to go to
    std::jmp_buf* escape = nullptr; ///< a frame outside that may be jumped to
    void* other = nullptr;          ///< what `look` needs besides

    std::uint64_t next_random() noexcept
    {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        return random >> 11;
    }
    std::uint64_t below(std::uint64_t limit) noexcept { return next_random() % limit; }

    /// Whether the function that asks is to call once more.
    bool goes_on() noexcept { return looks_left > 0 && depth <= aim; }
    /// What to call next.
    Stop choose() noexcept;
};

/// Calls until nothing is left to look at.
void wander(Wanderer& wanderer);

/// The functions of each build, and those of them that a signal handler may run.
std::span<const Stop> all_stops() noexcept;
std::span<const Stop> signal_safe_stops() noexcept;

} // namespace capture_test
