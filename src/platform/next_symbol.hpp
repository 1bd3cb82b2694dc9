// SPDX-License-Identifier: BSL-1.0
// The definition of a function that comes after ours in the program's search order. Reads the dynamic linker's own
// tables: unlike dlsym it takes no lock and allocates nothing, so it works inside the first malloc of the process.
#pragma once

#include <link.h>

namespace heapmark::platform {

/// Modules in search order, the one that holds heapmark first.
const link_map* own_link_map() noexcept;

/// The default version of the function in that module; nullptr when it defines none.
void* function_in(const link_map& module, const char* name) noexcept;

/// The first definition in a module after heapmark's; `where` becomes that module. nullptr when there is none.
void* next_function(const char* name, const link_map*& where) noexcept;

} // namespace heapmark::platform
