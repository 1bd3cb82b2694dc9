// SPDX-License-Identifier: BSL-1.0
// Reports of snapshots, and the names behind a frame.
#ifndef HEAPMARK_REPORT_HPP
#define HEAPMARK_REPORT_HPP

#include <heapmark/heapmark.hpp>

#include <string>

namespace heapmark {

/// One call that a frame stands for. A frame yields several where functions were inlined, innermost first.
struct Call {
    std::string function;       ///< demangled; empty when unknown
    std::string short_function; ///< the same as reports show it: default template arguments left out
    std::string file;           ///< as the compiler recorded it; empty without debug information
    unsigned line = 0;          ///< 0 when unknown
    bool inlined = false;       ///< into the next one of the list
    bool plumbing = false;      ///< of the allocator, heapmark or the C++ library
};

/// The calls behind a frame. Shape: never empty; innermost first; the last one is not inlined.
/// Errors: without symbols, one Call with empty fields. Threads: any; serialised.
/// Cost: milliseconds for the first frame of a module, and of each source in it, then about a microsecond.
[[nodiscard]] std::vector<Call> resolve(Frame frame);

/// The symbol that the linker knows the frame's function by: "_ZN5Cache4fillEv"; "" when there is none. What is inlined
/// there has no symbol. Outlives `dlclose`. Threads and cost: as resolve.
[[nodiscard]] std::string_view linkage_name(Frame frame);

/// Path of the program or library that the frame belonged to; "" when it belonged to none. Outlives `dlclose`.
[[nodiscard]] std::string_view module_path(Frame frame) noexcept;

/// The first frame that is not plumbing (allocator, heapmark, C++ library); the first of all if every one is.
[[nodiscard]] Frame call_site(const Stack& stack);

/// Whether the C library (its loader, resolver and converters included) asked for the block for itself: a table, a cache,
/// a buffer of stdio, what a library's constructors keep; judged by the function that the program called. For filters:
/// `survivors(g).filter([](const Block& block) { return !heapmark::is_kept_by_c_library(block); })`. Cost: as resolve.
[[nodiscard]] bool is_kept_by_c_library(const Block& block);

/// How the text report looks. Defaults come from HEAPMARK_OPTIONS where it names them.
struct TextOptions {
    enum class Color : std::uint8_t { automatic, never, always };

    TextOptions(); ///< the defaults, with HEAPMARK_OPTIONS applied

    Color color = Color::automatic; ///< automatic: on a terminal, unless NO_COLOR is set
    bool plumbing = false;          ///< show the allocator's and the C++ library's frames at the top of stacks
    std::size_t max_groups = 50;    ///< 0: all. What is left out is counted in the last line
    std::string source_root;        ///< file names below it are shown relative to it
};

/// Writes groups by call stack, largest first. An empty snapshot is one line.
/// Errors: sets the stream's state as any insertion does.
void write_text(std::ostream& out, const Snapshot& snapshot, const TextOptions& options);
/// Returns 0 or an errno value.
int write_text(std::FILE* out, const Snapshot& snapshot, const TextOptions& options);

/// The faults in the same style; one line when there are none.
void write_text(std::ostream& out, const Faults& faults, const TextOptions& options);

} // namespace heapmark

#endif
