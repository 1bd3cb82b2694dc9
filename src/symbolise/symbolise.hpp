// SPDX-License-Identifier: BSL-1.0
// Front of the room: the names of this process. Found late, when a report asks, and kept until the process ends.
#pragma once

#include "analyse/names.hpp"
#include "platform/modules.hpp"

namespace heapmark::symbolise {

/// Thread-safe, and usable in a forked child whatever other threads did. Keeps errno. The caller holds a Guard.
[[nodiscard]] analyse::Names& process_names() noexcept;

/// Names of the call at an address (a virtual address of the module's file) in a module that need not be one of this
/// process; it has to stay where it is. Not cached, otherwise as process_names().
[[nodiscard]] analyse::FrameNames names_in(const platform::Module& module, std::uintptr_t address);

/// The symbol, as the linker knows it, that covers the call behind a frame; "" when none does. Immortal. Thread-safe.
/// The caller holds a Guard.
[[nodiscard]] std::string_view linkage_name(Frame frame);

/// Of the frame's module; "" without one. Lock-free, allocates nothing.
[[nodiscard]] std::string_view module_path(Frame frame) noexcept;

/// A global or static variable.
struct VariableName {
    std::string_view name;   ///< demangled; empty when no symbol covers the address
    std::string_view module; ///< path; empty when the address is in none
    std::size_t offset = 0;  ///< of the address in the variable
};

/// The variable that lies at `address` now. Texts are immortal. Thread-safe. The caller holds a Guard.
[[nodiscard]] VariableName variable_at(const void* address);

/// The thread_local variable that lies at `offset` in the thread-local storage of a loaded module; `storage_id` is the
/// loader's number for that. Texts are immortal. Thread-safe; in forked children only variables of the program itself are
/// found. The caller holds a Guard.
[[nodiscard]] VariableName thread_variable_at(std::size_t storage_id, std::size_t offset);

} // namespace heapmark::symbolise
