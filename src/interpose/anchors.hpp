// SPDX-License-Identifier: BSL-1.0
// What ties the archive members of the overrides together, and marks the functions that are exported.
#pragma once

#define HEAPMARK_EXPORT __attribute__((visibility("default")))

namespace heapmark::interpose {

// One in each file of overrides: who links one links all.
extern const char new_anchor;
extern const char thread_anchor;
extern const char leave_anchor;
extern const char unload_anchor;
extern const char mappings_anchor;
extern const char process_anchor;

} // namespace heapmark::interpose

// api/exit_report.cpp: acts on the options by itself, so nothing else would link it.
extern "C" const char heapmark_exit_report_anchor;
