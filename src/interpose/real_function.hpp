// SPDX-License-Identifier: BSL-1.0
// The function that an override stands in front of, for overrides that are called once libraries can be asked for.
#pragma once

#include "platform/raw_write.hpp"

#include <atomic>
#include <dlfcn.h>

namespace heapmark::interpose {

/// Looked up at the first use; ends the process when there is none.
template <class Function>
class RealFunction {
public:
    explicit constexpr RealFunction(const char* name) noexcept : name_(name) {}

    Function* get() noexcept
    {
        Function* function = function_.load(std::memory_order_acquire);
        if (function == nullptr) {
            function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
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
