// SPDX-License-Identifier: BSL-1.0
// What of a test's memory fails it: policy, suppressions, expectations, the baseline; and its wrong releases.
#pragma once

#include "adapters/baseline.hpp"
#include "adapters/repetitions.hpp"
#include "adapters/search.hpp"

#include <heapmark/adapter.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heapmark::adapters {

/// A test within a suite that is over: its range, and whose blocks it has answered for.
struct Inner {
    Range range;
    by_this_thread_and_its_children judged;
};

/// What a test said that it leaves.
struct ExpectedLeak {
    std::string reason;
    std::string function; ///< or "type:" and a type; "" for any
    std::uint64_t blocks; ///< 0: any number but none
    std::string file;
    unsigned line;
    std::uint64_t seen = 0;

    static constexpr std::string_view type_prefix = "type:";
    [[nodiscard]] bool blames_type() const { return function.compare(0, type_prefix.size(), type_prefix) == 0; }
};

/// A suite or a test that is under way.
struct OpenScope {
    std::string name;
    Generation first{};
    by_this_thread_and_its_children judged{Generation{}};
    bool is_suite = false;    ///< scopes have been open within it
    std::vector<Inner> inner; ///< of those, the ones that left something
    std::vector<ExpectedLeak> expected;
    RunnerFrames runner;

    void begin(const std::string& its_name, Generation its_first)
    {
        name = its_name;
        first = its_first;
        judged = by_this_thread_and_its_children(first);
        is_suite = false;
        inner.clear();
        expected.clear();
    }
};

class Judge {
public:
    /// Errors: as TestSession.
    explicit Judge(const TestOptions& options);

    [[nodiscard]] const TestOptions& options() const noexcept { return options_; }
    [[nodiscard]] Baseline& baseline() noexcept { return baseline_; }

    /// What the scope left in the range, and wrong releases by its threads since the last that was judged.
    /// `leaves_nothing`: nothing of the range is alive, whose it ever was. `file` and `line` are for findings that have
    /// none; `stack_begin` is as for RunnerFrames::search.
    [[nodiscard]] Verdict judge(OpenScope& scope, Range range, bool leaves_nothing, const char* file, unsigned line,
                                const void* stack_begin);

    /// Whether the block is meant, whoever left it.
    [[nodiscard]] bool is_suppressed(const Block& block);

    /// A line where Policy::growth has not seen tests often enough; "" otherwise.
    [[nodiscard]] std::string notes_on_repetitions() const;

    /// Lines for suppressions that matched nothing, or too much.
    [[nodiscard]] std::string notes_on_suppressions() const;

private:
    Snapshot own_blocks(const OpenScope& scope, Range range, Verdict& verdict) const;
    bool is_accepted(OpenScope& scope, const Snapshot& stack, Verdict& verdict);
    Snapshot without_what_is_meant(OpenScope& scope, const Snapshot& own, Verdict& verdict);
    Explanation find_lost(const OpenScope& scope, const Snapshot& judged, Verdict& verdict,
                          const void* stack_begin) const;
    void judge_expectations(OpenScope& scope, Verdict& verdict) const;
    void judge_blocks(OpenScope& scope, Range range, Verdict& verdict, const char* file, unsigned line,
                      const void* stack_begin);
    Finding finding_of_stack(const OpenScope& scope, const Snapshot& stack, const Explanation& why, const char* file,
                             unsigned line) const;
    void judge_faults(const OpenScope& scope, Verdict& verdict, const char* file, unsigned line);

    TestOptions options_;
    Suppressions suppressions_;
    Baseline baseline_;
    std::map<std::string, Repetitions> repeated_; ///< of each test, for Policy::growth
    std::uint64_t failing_blocks_ = 0;
    std::size_t faults_seen_ = 0; ///< of those that are kept with their stacks
};

} // namespace heapmark::adapters
