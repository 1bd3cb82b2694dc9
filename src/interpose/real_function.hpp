// SPDX-License-Identifier: BSL-1.0
// The function that an override stands in front of.
#pragma once

#include "platform/next_symbol.hpp"
#include "platform/raw_write.hpp"

#include <atomic>

namespace heapmark::interpose {

/// Looked up at the first use, without the loader's help: an allocator may map its first pages inside our malloc. Ends the
/// process when there is none.
template <class Function>
class RealFunction {
public:
    explicit constexpr RealFunction(const char* name) noexcept : name_(name) {}

    Function* get() noexcept
    {
        Function* function = function_.load(std::memory_order_acquire);
        if (function == nullptr) [[unlikely]] {
            const link_map* where = nullptr;
            function = reinterpret_cast<Function*>(platform::next_function(name_, where));
            if (function == nullptr) {
                platform::Line line;
                platform::die(line << "no " << name_ << " found below heapmark's own");
            }
            function_.store(function, std::memory_order_release);
        }
        return function;
    }

private:
    const char* name_;
    std::atomic<Function*> function_{nullptr};
};

} // namespace heapmark::interpose
