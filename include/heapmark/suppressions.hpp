// SPDX-License-Identifier: BSL-1.0
// Which survivors are meant: patterns on the call stack or the tag of a block.
//
//     # the cache is filled once and kept               a comment before a line, or behind it, is its reason
//     function:Registry::instance
//     module:libfontconfig*
//
// A pattern stands for the whole name, "*" in it for any text, "?" for any character. What it is compared with:
//     function   each function of the stack: as it is, without its arguments, or without scope and arguments
//     site       as function, but only the innermost one that is not plumbing (allocator, C++ library)
//     file       each source file: its path, or the end of it after a '/'
//     module     each program or library: its path, its file name, or that up to ".so"
//     tag        the tag_scope
//     leak       LeakSanitizer's: any part of a function, file or module name; ^ and $ tie it to the beginning and end
//
// Entries of Valgrind ("{ name, Memcheck:Leak, fun:malloc, fun:..., }") are read as they are: each line a frame, from the
// allocator's function outwards, "..." any number of frames. Entries of other kinds are passed over, and so are those of
// memory that something holds (match-leak-kinds: reachable) where the policy does not judge it, nor does explain_at_exit.
//
// HEAPMARK_OPTIONS=suppressions=FILE reads them for tests, and for reports at exit (docs/explain.md).
#ifndef HEAPMARK_SUPPRESSIONS_HPP
#define HEAPMARK_SUPPRESSIONS_HPP

#include <heapmark/heapmark.hpp>

#include <string>

namespace heapmark {

/// One pattern, with what it has matched so far.
struct Suppression {
    enum class Kind : std::uint8_t { function, site, file, module, tag, leak, valgrind };

    Kind kind{};
    std::string pattern;             ///< an entry's name for Valgrind's
    std::vector<std::string> frames; ///< "fun:main", "obj:*/libfoo.so*", "src:a.c:7", "..." of Valgrind's
    bool only_held = false;          ///< of memory that something points to, as Valgrind's of kind reachable
    std::string reason;              ///< the comment before it
    std::string origin;              ///< "FILE:LINE", or where else it came from
    bool built_in = false;
    Counts matched;
};

/// A list of suppressions, oldest first. Threads: a value.
class Suppressions {
public:
    /// Adds the lines of a text; `origin` names it in messages.
    /// Errors: std::invalid_argument, with origin and line, for a line that is none of the forms above.
    void add(std::string_view text, std::string_view origin);

    /// Adds the lines of a file. Errors: as add; std::runtime_error when it cannot be read.
    void add_file(const std::string& path);

    /// Adds known one-time allocations of test frameworks and of the system's libraries.
    void add_built_in();

    /// Takes out those of memory that something points to: where the others are judged alone, they would seem unused.
    void drop_only_held();

    /// The first one that matches, or nullptr. Cost: names are looked up once a distinct stack.
    [[nodiscard]] Suppression* find(const Block& block);

    [[nodiscard]] const std::vector<Suppression>& list() const noexcept { return list_; }

private:
    std::vector<Suppression> list_;
};

/// Lines that would suppress what is in the snapshot, one a call site, each with a comment that says how much it is.
[[nodiscard]] std::string write_suppressions(const Snapshot& snapshot);

} // namespace heapmark

#endif
