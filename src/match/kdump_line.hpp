// SPDX-License-Identifier: BSL-1.0
// One line of kdump's text: what it says of memory and of processes. A pure function.
#pragma once

#include <cstdint>
#include <string_view>

namespace heapmark::match {

struct KdumpLine {
    enum class What : std::uint8_t {
        foreign,   ///< not of kdump
        other,     ///< of kdump, but not about this
        malformed, ///< begins as a record of malloc and does not end as one
        begin,     ///< malloc_init()
        allocate,
        reallocate,
        release,
        fork_call,
        fork_return, ///< `child` is its id; 0 in the child itself
        fork_failed,
        exec,
        exit,
    };

    What what = What::foreign;
    std::uint32_t process = 0; ///< 0: no column for it
    std::string_view program;
    std::uint64_t address = 0; ///< the result, or what is released; 0: none
    std::uint64_t old = 0;     ///< what is reallocated; 0: nothing
    std::uint64_t bytes = 0;
    std::uint32_t child = 0;
};

/// Lines are "[PID [THREAD] PROGRAM] [TIME] KIND ...", as FreeBSD's kdump writes them with any of its options -H, -R, -T;
/// the program's name may hold blanks. A record of malloc alone on its line is taken too.
/// Views in it are of `line`.
[[nodiscard]] KdumpLine read_kdump_line(std::string_view line) noexcept;

} // namespace heapmark::match
