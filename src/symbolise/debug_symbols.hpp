// SPDX-License-Identifier: BSL-1.0
// The symbol table of a separate debug file, read without the debug information beside it.
#pragma once

#include "symbolise/debug_info.hpp"

namespace heapmark::symbolise {

/// The function that covers an address (a virtual address of the module's file) by the module's debug file in the system's
/// build-id directory; without a name where there is none. Not synchronised; keeps each file mapped, for good.
[[nodiscard]] Symbol debug_symbol_at(const platform::Module& module, std::uintptr_t address);

} // namespace heapmark::symbolise
