// SPDX-License-Identifier: BSL-1.0
// What the file of a module tells about an address in it. One file a back end.
#pragma once

#include "platform/modules.hpp"

#include <cstdint>

namespace heapmark::symbolise {

/// Receives calls, innermost first. Texts live only during the call; any may be nullptr.
class CallSink {
public:
    virtual void call(const char* function, const char* file, unsigned line) = 0;

protected:
    ~CallSink() = default;
};

/// The symbol that covers an address. The name lives as long as the process.
struct Symbol {
    const char* name = nullptr; ///< as linked (mangled); nullptr: none
    std::uintptr_t begin = 0;   ///< file's virtual address
    std::uintptr_t size = 0;
};

/// Calls `sink` for each call that the debug information knows at `address` (a virtual address of the module's file).
/// Nothing is told of a file that cannot be read or is not the one that was loaded, by its build-id.
/// Not synchronised; loads each file once, and of its debug information what each source needs when it is first asked
/// about, for good. The caller holds a Guard.
void calls_at(const platform::Module& module, std::uintptr_t address, CallSink& sink);

/// Under the same conditions; functions and data.
[[nodiscard]] Symbol symbol_at(const platform::Module& module, std::uintptr_t address);

} // namespace heapmark::symbolise
