// SPDX-License-Identifier: BSL-1.0
// Traces: what the program does with its heap, each step of it, in a file; and what such a file shows as leaked.
//
//     heapmark::trace_start("heap.trace");
//     serve_requests();
//     heapmark::trace_stop();
//     std::cout << heapmark::match_traces({"heap.trace"});
//
// HEAPMARK_OPTIONS=trace=FILE writes one of the whole run, and `heapmark match FILE` reads it. The format, and what
// survives a crash, is in docs/trace.md.
#ifndef HEAPMARK_TRACE_HPP
#define HEAPMARK_TRACE_HPP

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace heapmark {

/// Starts writing each allocation, reallocation and release, with time, thread, address, size and stack, to a new file.
/// A trace that is being written is stopped first. `%p` in the path becomes the process id. Where another process writes its
/// trace, and in forked children, ".<process id>" is added.
/// Errors: returns an errno value, and no trace is written; ENOTSUP where heapmark is not in force (active() is false), or
/// when the path is no regular file. Records for which the file has no space later are counted, see trace_status().
/// Threads: one at a time starts and stops; others are traced from some moment during the call on.
/// Heap path: not in signal handlers.
/// Cost: while a trace is written some 0.2 µs more for each call of the allocator, and 24 bytes of disk; nothing without.
int trace_start(const char* path);

/// Stops the trace, if one is written. What other threads are doing at the moment may be in it or not.
void trace_stop() noexcept;

struct TraceStatus {
    bool active = false;
    std::uint64_t dropped = 0; ///< records of the present or last trace for which there was no space
};
/// Threads: any. Heap path: may be called anywhere.
[[nodiscard]] TraceStatus trace_status() noexcept;

/// A block that a trace shows allocated and never released.
struct TraceLeak {
    std::uint32_t process = 0; ///< 0 where the trace does not tell
    std::string program;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::string trace;      ///< path of the file
    std::uint64_t line = 0; ///< of the record in the file's text; in heapmark's traces its number in the order of time
    std::string record;     ///< the line; in heapmark's traces the same in words
};

/// A double free, a free of what was never allocated, an allocation at an address in use, a line that is no record.
struct TraceWarning {
    std::string trace;
    std::uint64_t line = 0;
    std::string text;
};

struct TraceMatch {
    std::vector<TraceLeak> leaks;       ///< by process, in the order of their records
    std::vector<TraceWarning> warnings; ///< the first 10,000
    std::uint64_t leaked_bytes = 0;
    std::uint64_t double_frees = 0;
    std::uint64_t unknown_frees = 0;   ///< of addresses that were never allocated
    std::uint64_t allocated_twice = 0; ///< at addresses in use
    std::uint64_t malformed_lines = 0; ///< skipped
    std::string text; ///< what `heapmark match` prints: leaks with stacks, and totals; empty without leaks
};

/// Reads traces of heapmark, and text that FreeBSD's kdump makes of utrace records; "-" is standard input (text alone).
/// Errors: throws std::runtime_error, with path and reason, when one cannot be read or is neither.
/// Threads: any, each for itself. Cost: a second for some ten million records, memory for what is alive, and for the last
/// million released addresses, without which a double free could not be told.
[[nodiscard]] TraceMatch match_traces(const std::vector<std::string>& paths);

/// The text.
std::ostream& operator<<(std::ostream& out, const TraceMatch& match);

} // namespace heapmark

#endif
