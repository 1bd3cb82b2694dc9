// SPDX-License-Identifier: BSL-1.0
// A session: which scopes are open, what belongs to which, and what is told of it.
#include "adapters/ci_forms.hpp"
#include "adapters/finding_text.hpp"
#include "adapters/judge.hpp"
#include "platform/options.hpp"
#include "record/recorder.hpp"

#include <heapmark/adapter.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <list>
#include <stdio_ext.h>
#include <unistd.h>

namespace heapmark {

namespace {

using adapters::OpenScope;

constexpr Generation next(Generation generation, std::int64_t step = 1)
{
    return Generation{static_cast<std::uint64_t>(static_cast<std::int64_t>(generation) + step)};
}

/// Has the buffer of standard output made now, unless it is there already: the test that prints first would seem to
/// leave it, and names would have to be looked up to tell. It must be zero, lest it seems to hold something.
void make_output_buffer()
{
    if (__fbufsize(stdout) != 0) return;
    static char buffer[BUFSIZ]; // used until the very end
    std::setvbuf(stdout, buffer, isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF, sizeof buffer);
}

void write_file(const std::string& path, const std::string& text, Closing& closing)
{
    errno = 0;
    std::ofstream file(path, std::ios::trunc);
    file << text;
    file.close();
    if (file.good()) return;
    closing.failed = true;
    closing.text += "heapmark: " + path + " cannot be written: " + std::strerror(errno) + "\n";
}

TestSession* newest_session = nullptr;

// Before frameworks register tests, after heapmark has read its options. What their blocks contain of former uses would
// seem to hold memory for the whole run; and so would what they contain no longer, emptied vectors for one, when tests
// make their blocks in those places.
[[gnu::constructor(102)]] void begin_clean()
{
    if (TestOptions{}.policy != Policy::lost) return;
    clear_new_blocks();
    record::keep_released(true);
}

} // namespace

struct TestSession::State {
    adapters::Judge judge;
    std::list<OpenScope> open;                  ///< a list: dead elements of a vector would seem to hold blocks
    std::list<OpenScope> spare;                 ///< ended ones, with their memory, for those to come
    std::list<Finding> findings;                ///< of all tests, for SARIF
    std::list<adapters::NamedVerdict> verdicts; ///< of all tests, for JUnit
    TestSession* previous = nullptr;

    explicit State(const TestOptions& options) : judge(options) {}
};

TestSession::TestSession(const TestOptions& options)
{
    const framework_memory ours;
    make_output_buffer();
    state_ = new State(options);
    state_->previous = newest_session;
    platform::tests_are_judged = true;
    newest_session = this;
    if (options.policy == Policy::lost) clear_new_blocks();
}

// Not a default argument: the options would lie in the caller's frame, and what they leave there with them.
TestSession::TestSession() : TestSession(TestOptions{}) {}

TestSession::~TestSession()
{
    newest_session = state_->previous;
    delete state_;
}

TestSession* TestSession::current() noexcept { return newest_session; }

const TestOptions& TestSession::options() const noexcept { return state_->judge.options(); }

void TestSession::wipe_before_leave() const noexcept
{
    if (!state_->open.empty() && counts(state_->open.back().first).blocks != 0) wipe_dead_stack();
}

const char* TestSession::problem() noexcept
{
    const Status now = status();
    return now.malloc_recorded && now.new_recorded ? "" : now.problem;
}

void TestSession::enter(const std::string& name, const void* runner)
{
    const framework_memory ours;
    std::list<OpenScope>& open = state_->open;
    if (state_->spare.empty()) state_->spare.emplace_back();
    open.splice(open.end(), state_->spare, state_->spare.begin());
    record::keep_released(false);
    if (options().policy == Policy::lost)
        open.back().runner.remember(runner, open.size() == 1 ? nullptr : &std::prev(open.end(), 2)->runner);
    open.back().begin(name, mark(name.c_str()));
}

// What its callers keep in registers may be all that holds a block. This puts it on the stack, at the lower end of the
// part that is searched.
[[gnu::noinline]] Verdict TestSession::leave(const char* file, unsigned line)
{
    __builtin_unwind_init();
    Verdict verdict = judge(file, line);
    escape(&verdict); // no jump there
    return verdict;
}

[[gnu::noinline]] Verdict TestSession::judge(const char* file, unsigned line)
{
    const framework_memory ours;
    const void* const callers = static_cast<void**>(__builtin_frame_address(0)) + 2; // after the return address
    state_->spare.splice(state_->spare.begin(), state_->open, std::prev(state_->open.end()));
    OpenScope& scope = state_->spare.front();
    // Most tests leave nothing that later blocks would have to be told from.
    const bool leaves_nothing = counts(scope.first).blocks == 0;
    const adapters::Range range{scope.first, leaves_nothing ? current_generation() : next(mark(), -1)};
    const Allocations used = allocations(range.first, range.last, Threads::this_one_and_its_children);
    Verdict verdict = state_->judge.judge(scope, range, leaves_nothing, file, line, callers);
    verdict.used = used;
    if (!state_->open.empty()) {
        OpenScope& suite = state_->open.back();
        suite.is_suite = true;
        if (!leaves_nothing) suite.inner.push_back({range, scope.judged});
    }
    for (const Finding& finding : verdict.failures) {
        if (finding.told_before) continue;
        if (options().github) verdict.notes += adapters::github_annotation(finding, options().source_root);
        if (!options().sarif.empty()) state_->findings.push_back(finding);
    }
    if (!options().junit.empty() && (!scope.is_suite || verdict.failed()))
        state_->verdicts.push_back({scope.name, verdict});
    return verdict;
}

void TestSession::expect_leak(const char* reason, const char* function, std::uint64_t blocks, const char* file,
                              unsigned line)
{
    const framework_memory ours;
    if (!state_->open.empty()) state_->open.back().expected.push_back({reason, function, blocks, file, line});
}

Snapshot TestSession::survivors(Generation first, Generation last)
{
    const framework_memory ours;
    const by_this_thread_and_its_children judged(first);
    return heapmark::survivors(first, last).filter([&](const Block& block) {
        return judged(block) && !state_->judge.is_suppressed(block) && !is_kept_by_c_library(block);
    });
}

std::string TestSession::describe(const Snapshot& snapshot) const
{
    const framework_memory ours;
    std::string text;
    for (const Snapshot& stack : adapters::by_stack_of(snapshot))
        text += adapters::in_words(stack) + "\n" +
                suppress::stack_lines(suppress::names_of(stack[0].stack), options().source_root);
    return text;
}

Closing TestSession::finish(bool whole)
{
    const framework_memory ours;
    Closing closing;
    const TestOptions& options = state_->judge.options();
    adapters::Baseline& baseline = state_->judge.baseline();
    closing.text += state_->judge.notes_on_repetitions();
    if (whole) closing.text += state_->judge.notes_on_suppressions();
    if (!options.baseline.empty()) {
        if (options.update_baseline) {
            const int error = baseline.write(options.baseline);
            closing.failed = error != 0;
            closing.text += "heapmark: the baseline " +
                            (error == 0 ? "is in " + options.baseline
                                        : "cannot be written to " + options.baseline + ": " + std::strerror(error)) +
                            "\n";
        } else if (const std::string less = baseline.shrinkable(); whole && !less.empty()) {
            closing.text += "heapmark: less is left than " + options.baseline +
                            " allows; HEAPMARK_OPTIONS=update_baseline=1 shrinks it\n" + less;
        }
    }
    if (!options.sarif.empty())
        write_file(options.sarif, adapters::sarif(state_->findings, options.source_root), closing);
    if (!options.junit.empty()) write_file(options.junit, adapters::junit(state_->verdicts), closing);
    return closing;
}

} // namespace heapmark
