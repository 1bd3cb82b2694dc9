// SPDX-License-Identifier: BSL-1.0
// AtomicRef: atomic operations on a variable that is no std::atomic. What is used of std::atomic_ref, which libc++ has
// only from version 19 on.
#pragma once

#include <atomic>
#include <type_traits>

namespace heapmark::base {

template <class Value>
class AtomicRef {
    static_assert(std::is_trivially_copyable_v<Value>);
    static_assert(std::atomic<Value>::is_always_lock_free); // then the built-in functions are instructions

public:
    explicit AtomicRef(Value& value) noexcept : value_(value) {}

    [[nodiscard]] Value load_relaxed() const noexcept
    {
        Value seen;
        __atomic_load(&value_, &seen, __ATOMIC_RELAXED);
        return seen;
    }

    /// Stores `wanted` if the value is `expected`, and else the value in `expected`; false then.
    bool exchange_if_relaxed(Value& expected, Value wanted) const noexcept
    {
        return __atomic_compare_exchange(&value_, &expected, &wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }

    void subtract_relaxed(Value amount) const noexcept { __atomic_fetch_sub(&value_, amount, __ATOMIC_RELAXED); }

private:
    Value& value_;
};

} // namespace heapmark::base
