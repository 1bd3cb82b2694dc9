// SPDX-License-Identifier: BSL-1.0
// Checks for the small programs of this folder. They run before main, in handlers and in dying threads, so a check
// that holds allocates nothing, and none throws. The program's exit status tells whether one failed.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <unistd.h>

/// ctest takes this exit status for "skipped".
inline constexpr int cannot_run_here = 77;

inline std::atomic<int> failed_checks{0};
inline std::atomic<int> made_checks{0};

inline bool check_failed(const char* text, const char* file, int line) noexcept
{
    failed_checks.fetch_add(1);
    dprintf(STDERR_FILENO, "%s:%d: not true: %s\n", file, line, text);
    return false;
}

inline bool check_equal_failed(const char* text, std::uint64_t left, std::uint64_t right, const char* file,
                               int line) noexcept
{
    failed_checks.fetch_add(1);
    dprintf(STDERR_FILENO, "%s:%d: not equal: %s (%lld and %lld)\n", file, line, text, static_cast<long long>(left),
            static_cast<long long>(right));
    return false;
}

/// Numbers, enumerations and pointers as one type, for a failed comparison to print.
template <class T>
std::uint64_t as_number(T value) noexcept
{
    if constexpr (std::is_pointer_v<T>)
        return reinterpret_cast<std::uintptr_t>(value);
    else
        return static_cast<std::uint64_t>(value);
}

#define EXPECT(condition) (made_checks.fetch_add(1), (condition) ? true : check_failed(#condition, __FILE__, __LINE__))
#define EXPECT_EQ(left, right)                                                                                         \
    (made_checks.fetch_add(1),                                                                                         \
     as_number(left) == as_number(right)                                                                               \
         ? true                                                                                                        \
         : check_equal_failed(#left " == " #right, as_number(left), as_number(right), __FILE__, __LINE__))

/// Exit status of the program: 0 when at least one check was made and all held.
inline int verdict() noexcept { return made_checks.load() > 0 && failed_checks.load() == 0 ? 0 : 1; }

/// Keeps the compiler from knowing where a pointer came from: it warns of, and removes, what these programs do.
template <class T>
T* opaque(T* pointer) noexcept
{
    __asm__ volatile("" : "+r"(pointer) : : "memory");
    return pointer;
}
inline std::size_t opaque(std::size_t number) noexcept
{
    __asm__ volatile("" : "+r"(number));
    return number;
}
