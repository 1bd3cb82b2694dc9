// SPDX-License-Identifier: BSL-1.0
// What is used of the embedded libbacktrace (src/cmake/EmbedLibbacktrace.cmake), under the names that it has there.
#pragma once

#include "symbolise/debug_units.hpp"

#include <cstdint>

namespace heapmark::symbolise {
/// Whether the units of a file's debug information are read one by one. Only tests ask for all at once, to compare.
extern constinit bool reads_units_alone;
} // namespace heapmark::symbolise

extern "C" {
// backtrace.h of libbacktrace.
struct backtrace_state;
using heapmark_backtrace_error = void (*)(void* data, const char* message, int error);
using heapmark_backtrace_full = int (*)(void* data, std::uintptr_t pc, const char* file, int line,
                                        const char* function);
using heapmark_backtrace_symbol = void (*)(void* data, std::uintptr_t pc, const char* name, std::uintptr_t value,
                                           std::uintptr_t size);
backtrace_state* heapmark_backtrace_create_state(const char* file, int threaded, heapmark_backtrace_error error,
                                                 void* data);
int heapmark_backtrace_pcinfo(backtrace_state* state, std::uintptr_t pc, heapmark_backtrace_full callback,
                              heapmark_backtrace_error error, void* data);
int heapmark_backtrace_syminfo(backtrace_state* state, std::uintptr_t address, heapmark_backtrace_symbol callback,
                               heapmark_backtrace_error error, void* data);

// internal.h of libbacktrace.
struct dwarf_data;
using heapmark_backtrace_fileline = int (*)(backtrace_state* state, std::uintptr_t pc, heapmark_backtrace_full callback,
                                            heapmark_backtrace_error error, void* data);
int heapmark_backtrace_dwarf_add(backtrace_state* state, std::uintptr_t base,
                                 const heapmark::symbolise::DebugSections* sections, int is_big_endian,
                                 dwarf_data* supplement, heapmark_backtrace_error error, void* data,
                                 heapmark_backtrace_fileline* fileline, dwarf_data** entry);
}
