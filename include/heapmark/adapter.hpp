// SPDX-License-Identifier: BSL-1.0
// What all test frameworks have in common: a session that judges what each test left. The headers of the frameworks
// (gtest.hpp ...) are glue around it; for a framework that has none, or none at all, use it as they do:
//
//     heapmark::TestSession session;
//     session.enter("parses nothing");
//     parses_nothing();
//     const heapmark::Verdict verdict = session.leave();
//     for (const heapmark::Finding& finding : verdict.failures) complain(finding.file, finding.line, finding.text);
//     return session.finish().failed ? 1 : 0;
#ifndef HEAPMARK_ADAPTER_HPP
#define HEAPMARK_ADAPTER_HPP

#include <heapmark/explain.hpp>
#include <heapmark/suppressions.hpp>

namespace heapmark {

/// While one lives, what this thread allocates is a test framework's: never a survivor, and never a holder of one, so
/// that what its blocks still contain of their former use hides no leak. Nests. For adapters; tests want `ignore`.
class [[nodiscard]] framework_memory {
public:
    framework_memory() noexcept;
    ~framework_memory();
    framework_memory(const framework_memory&) = delete;
    framework_memory& operator=(const framework_memory&) = delete;
};

/// What makes a test fail.
enum class Policy : std::uint8_t {
    lost,      ///< memory that it left and that nothing points to; memory that something holds is shown
    survivors, ///< any memory that it left
    growth     ///< what it leaves each time that it is repeated, after the first
};

/// Shape: the members are HEAPMARK_OPTIONS' keys of the same name; the constructor reads that variable.
struct TestOptions {
    TestOptions();

    Policy policy = Policy::lost;
    std::string suppressions;      ///< files, separated by commas
    std::string baseline;          ///< file of what is left at the moment, which may only become less
    bool update_baseline = false;  ///< write that file, and let everything pass
    std::string sarif;             ///< file to write findings to, as SARIF 2.1.0
    std::string junit;             ///< file to write verdicts to, as JUnit XML; of a test that is repeated the last one
    bool github = false;           ///< print findings as workflow commands of GitHub too
    std::uint64_t repeats = 4;     ///< how often Policy::growth runs the tests where it is not told by the framework
    std::uint64_t max_groups = 10; ///< findings told of one test; 0: all
    std::string source_root;       ///< file names below it are shown relative to it
};

/// What is wrong at one call stack.
struct Finding {
    Snapshot blocks;                ///< that were left; empty for a wrong release
    const char* rule = "survivors"; ///< or "faults"
    std::string site;               ///< function that asked for them, or released wrongly
    std::string file;               ///< where, as the compiler recorded it; "" when unknown
    unsigned line = 0;
    std::string title;        ///< one line: who left how much
    std::string text;         ///< the stack, and what can be done about it
    bool told_before = false; ///< all call stacks that an earlier run of the test has told, a line each
};

/// What a test, or a suite, left.
struct Verdict {
    Allocations used;              ///< by the test and the threads that it started
    std::vector<Finding> failures; ///< largest first; what an earlier run has told is one of them, the last
    std::vector<Finding> repeated; ///< that one in full, for files
    Counts left;                   ///< of what fails
    Counts held;                   ///< of what something points to
    Counts suppressed;
    Counts expected;   ///< by expect_leak or the baseline
    Counts background; ///< born meanwhile in threads that the test did not start: not judged
    std::string notes; ///< lines for people that are not failures; "" for none

    [[nodiscard]] bool failed() const noexcept { return !failures.empty(); }
};

/// The end of a run.
struct Closing {
    bool failed = false;
    std::string text; ///< what to tell: unused suppressions, a baseline that may shrink, files that cannot be written
};

/// Judges tests. Suites enclose tests: what is born in an inner one is not the outer one's.
/// Threads: one session a process, used by the thread that runs the tests. Its own memory is ignored.
class TestSession {
public:
    /// Errors: std::invalid_argument and std::runtime_error for what `options` name and cannot be read.
    explicit TestSession(const TestOptions& options);
    TestSession(); ///< with what HEAPMARK_OPTIONS says
    ~TestSession();
    TestSession(const TestSession&) = delete;
    TestSession& operator=(const TestSession&) = delete;

    /// The one that was made last and still lives, or nullptr.
    [[nodiscard]] static TestSession* current() noexcept;

    [[nodiscard]] const TestOptions& options() const noexcept;

    /// Why nothing can be judged in this process, with the remedy; "" when all is well.
    [[nodiscard]] static const char* problem() noexcept;

    /// wipe_dead_stack(), where the innermost scope has left something. Call it first thing when a test has ended, from
    /// a function with few variables.
    void wipe_before_leave() const noexcept;

    /// A suite or a test begins. Words that freed blocks left in the frames of functions seem to hold what is born in
    /// their places. So where a framework runs the tests, `runner` is an address of this thread's stack from which on up
    /// are its functions that last as long as the test, __builtin_frame_address(0) of the function that it calls here:
    /// what they contain already holds nothing of the test's, nor do the functions below that tell of its end. nullptr:
    /// the callers may keep what the test makes.
    void enter(const std::string& name, const void* runner = nullptr);
    /// The innermost one ends. Where its file and line are known, a finding without any has those.
    [[nodiscard]] Verdict leave(const char* file = nullptr, unsigned line = 0);

    /// The current test is known to leave memory: what it leaves by `function` ("" for any; "type:Node" for blocks that
    /// by_type calls so) does not fail, but
    /// leaving anything else than `blocks` blocks (0: any number but none) does.
    void expect_leak(const char* reason, const char* function, std::uint64_t blocks, const char* file, unsigned line);

    /// What was born in first..last in this thread and those that it started, without what is suppressed.
    [[nodiscard]] Snapshot survivors(Generation first, Generation last);

    /// Stacks of a snapshot as they are shown in findings.
    [[nodiscard]] std::string describe(const Snapshot& snapshot) const;

    /// All tests have run; `whole`: none was left out, so that what is unused can be told.
    [[nodiscard]] Closing finish(bool whole);

private:
    Verdict judge(const char* file, unsigned line);

    struct State;
    State* state_;
};

} // namespace heapmark

#endif
