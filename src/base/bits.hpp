// SPDX-License-Identifier: BSL-1.0
// Bit fields, hashing and counters of the heap path. No system calls.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heapmark::base {

/// Bits [shift, shift + width) of a 64-bit word.
template <unsigned Shift, unsigned Width>
struct Field {
    static_assert(Width > 0 && Shift + Width <= 64);
    static constexpr std::uint64_t max = Width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << Width) - 1;
    static constexpr std::uint64_t mask = max << Shift;

    static constexpr std::uint64_t put(std::uint64_t value) noexcept { return value << Shift; }
    static constexpr std::uint64_t get(std::uint64_t word) noexcept { return (word >> Shift) & max; }
    static constexpr std::uint64_t replace(std::uint64_t word, std::uint64_t value) noexcept
    {
        return (word & ~mask) | put(value);
    }
};

/// Finaliser of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
constexpr std::uint64_t mix64(std::uint64_t value) noexcept
{
    value = (value ^ (value >> 30)) * 0xbf58'476d'1ce4'e5b9U;
    value = (value ^ (value >> 27)) * 0x94d0'49bb'1331'11ebU;
    return value ^ (value >> 31);
}

constexpr std::size_t round_up(std::size_t value, std::size_t power_of_two) noexcept
{
    return (value + power_of_two - 1) & ~(power_of_two - 1);
}

/// Adds to a counter that only one thread writes. Signal handlers of that thread may do so too: on x86 the addition
/// is one instruction, which a signal cannot split; elsewhere it is an atomic one.
inline void add_by_owner(std::int64_t& counter, std::int64_t amount) noexcept
{
#if defined(__x86_64__)
    __asm__ volatile("addq %1, %0" : "+m"(counter) : "er"(amount) : "cc");
#else
    __atomic_fetch_add(&counter, amount, __ATOMIC_RELAXED);
#endif
}

/// The same where other threads read the counter.
inline void add_by_owner(std::atomic<std::int64_t>& counter, std::int64_t amount) noexcept
{
#if defined(__x86_64__)
    static_assert(sizeof counter == sizeof amount);
    add_by_owner(reinterpret_cast<std::int64_t&>(counter), amount); // clang++ takes no class of libc++ there
#else
    counter.fetch_add(amount, std::memory_order_relaxed);
#endif
}

} // namespace heapmark::base
