// SPDX-License-Identifier: BSL-1.0
// The judge: what belongs to which test, and which of it fails the test.
#include "adapters/baseline.hpp"
#include "adapters/c_library.hpp"
#include "adapters/ci_forms.hpp"
#include "adapters/fault_findings.hpp"
#include "adapters/finding_text.hpp"
#include "adapters/repetitions.hpp"
#include "adapters/search.hpp"

#include <heapmark/adapter.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <list>
#include <map>
#include <stdio_ext.h>
#include <unistd.h>

namespace heapmark {

namespace {

using adapters::by_stack_of;
using adapters::in_words;
using adapters::Range;

constexpr Generation next(Generation generation, std::int64_t step = 1)
{
    return Generation{static_cast<std::uint64_t>(static_cast<std::int64_t>(generation) + step)};
}

/// A test within a suite that is over: its range, and whose blocks it has answered for.
struct Inner {
    Range range;
    by_this_thread_and_its_children judged;
};

struct ExpectedLeak {
    std::string reason;
    std::string function;
    std::uint64_t blocks;
    std::string file;
    unsigned line;
    std::uint64_t seen = 0;
};

struct OpenScope {
    std::string name;
    Generation first;
    by_this_thread_and_its_children judged;
    std::vector<Inner> inner;
    std::vector<ExpectedLeak> expected;
};

void add(Counts& counts, const Snapshot& blocks)
{
    counts.blocks += blocks.size();
    counts.bytes += blocks.bytes();
}

std::vector<std::string> split(const std::string& list, char separator)
{
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(separator, begin), list.size());
        if (end > begin) parts.push_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

/// Has the buffer of standard output made now, unless it is there already: the test that prints first would seem to
/// leave it, and names would have to be looked up to tell. It must be zero, lest it seems to hold something.
void make_output_buffer()
{
    if (__fbufsize(stdout) != 0) return;
    static char buffer[BUFSIZ]; // used until the very end
    std::setvbuf(stdout, buffer, isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF, sizeof buffer);
}

const char* how_lost(const Explanation& why, const Block& block)
{
    const auto& groups = why.lost_groups();
    if (std::any_of(groups.begin(), groups.end(), [&](const LostGroup& group) {
            return std::any_of(group.cycle.begin(), group.cycle.end(),
                               [&](const Step& step) { return step.block.address == block.address; });
        }))
        return ", lost: on a cycle that nothing else points to";
    return why.reach(block.address) == Reach::lost ? ", lost: nothing points there"
                                                   : ", lost: only lost memory points there";
}

TestSession* newest_session = nullptr;

// Before frameworks register tests, after heapmark has read its options: what their blocks contain of former uses would
// seem to hold memory for the whole run.
[[gnu::constructor(102)]] void clear_from_the_start()
{
    if (TestOptions{}.policy == Policy::lost) clear_new_blocks();
}

} // namespace

struct TestSession::State {
    TestOptions options;
    Suppressions suppressions;
    adapters::Baseline baseline;
    std::list<OpenScope> open; ///< a list: dead elements of a vector would seem to hold blocks
    std::map<std::string, adapters::Repetitions> repeated; ///< of each test, for Policy::growth
    std::list<Finding> findings;                           ///< of all tests, for SARIF
    std::uint64_t failing_blocks = 0;
    std::size_t faults_seen = 0; ///< of those that are kept with their stacks
    TestSession* previous = nullptr;

    explicit State(const TestOptions& chosen) : options(chosen)
    {
        for (const std::string& file : split(options.suppressions, ',')) suppressions.add_file(file);
        suppressions.add_built_in();
        if (!options.baseline.empty() && !options.update_baseline) baseline.read(options.baseline);
    }

    Verdict judge(OpenScope& scope, Range range, const char* file, unsigned line, const void* frames_end);
    Snapshot own_blocks(const OpenScope& scope, Range range, Verdict& verdict) const;
    bool is_accepted(OpenScope& scope, const Snapshot& stack, Verdict& verdict);
    Explanation keep_lost(const Snapshot& own, std::vector<Snapshot>& stacks, Verdict& verdict,
                          const void* frames_end) const;
    void judge_expectations(OpenScope& scope, Verdict& verdict) const;
    void judge_faults(const OpenScope& scope, Verdict& verdict, const char* file, unsigned line);
    std::string notes_on_suppressions() const;
};

/// What the scope itself left: without what inner tests answered for, and what others' threads made meanwhile.
Snapshot TestSession::State::own_blocks(const OpenScope& scope, Range range, Verdict& verdict) const
{
    return heapmark::survivors(range.first, range.last).filter([&](const Block& block) {
        const auto after =
            std::upper_bound(scope.inner.begin(), scope.inner.end(), block.generation,
                             [](Generation generation, const Inner& inner) { return generation < inner.range.first; });
        if (after != scope.inner.begin()) {
            const Inner& inner = *std::prev(after);
            if (inner.range.holds(block) && inner.judged(block)) return false;
        }
        if (scope.judged(block)) return true;
        ++verdict.background.blocks;
        verdict.background.bytes += block.size;
        return false;
    });
}

/// Whether the blocks of one stack are meant: suppressed, expected by the test, or in the baseline.
bool TestSession::State::is_accepted(OpenScope& scope, const Snapshot& stack, Verdict& verdict)
{
    if (Suppression* suppression = suppressions.find(stack[0])) {
        add(suppression->matched, stack);
        add(verdict.suppressed, stack);
        return true;
    }
    // Where holders are looked for, the library's tables and caches have one.
    if (options.policy != Policy::lost && adapters::is_kept_by_c_library(adapters::names_of(stack[0].stack))) {
        add(verdict.suppressed, stack);
        return true;
    }
    for (ExpectedLeak& expected : scope.expected) {
        if (!expected.function.empty() && !in_function(expected.function.c_str())(stack[0])) continue;
        expected.seen += stack.size();
        add(verdict.expected, stack);
        return true;
    }
    if (!options.baseline.empty()) {
        const std::string site = adapters::site_of(adapters::names_of(stack[0].stack));
        baseline.saw(scope.name, site, stack.size());
        if (options.update_baseline || stack.size() <= baseline.allowed(scope.name, site)) {
            add(verdict.expected, stack);
            return true;
        }
    }
    return false;
}

/// Keeps of the stacks what nothing points to, and notes the others. Returns what was found out.
Explanation TestSession::State::keep_lost(const Snapshot& own, std::vector<Snapshot>& stacks, Verdict& verdict,
                                          const void* frames_end) const
{
    // Not through a list of blocks of our own: their addresses in it would hold them.
    const Snapshot all = own.filter([&](const Block& block) {
        return std::any_of(stacks.begin(), stacks.end(), [&](const Snapshot& stack) {
            return std::any_of(stack.begin(), stack.end(),
                               [&](const Block& other) { return other.stack == block.stack; });
        });
    });
    wipe_dead_stack();
    Explanation why = adapters::search(all, frames_end);
    stacks.clear();
    if (!why.complete()) {
        // Neither an alarm that may be false nor silence.
        Finding& finding = verdict.failures.emplace_back();
        finding.title =
            "heapmark: " + verdict.name + " left " + in_words(all) + ", and whether they are lost could not be checked";
        finding.text = std::string(why.problem()) + "\nto judge without a search: HEAPMARK_OPTIONS=policy=survivors\n";
        return why;
    }
    stacks = by_stack_of(why.lost());
    add(verdict.held, why.held());

    constexpr std::size_t lines_at_most = 3;
    std::string lines;
    std::size_t told = 0;
    std::size_t more = 0;
    for (const Snapshot& stack : by_stack_of(why.held())) {
        if (adapters::is_kept_by_c_library(adapters::names_of(stack[0].stack))) continue;
        if (told < lines_at_most) {
            lines += adapters::held_line(stack, why, options.source_root);
            ++told;
        } else {
            ++more;
        }
    }
    if (told != 0) verdict.notes += "heapmark: " + verdict.name + " left memory that is still held:\n" + lines;
    if (more != 0) verdict.notes += "  and " + std::to_string(more) + " more call stacks\n";
    return why;
}

void TestSession::State::judge_expectations(OpenScope& scope, Verdict& verdict) const
{
    for (const ExpectedLeak& expected : scope.expected) {
        const bool right = expected.blocks == 0 ? expected.seen != 0 : expected.seen == expected.blocks;
        const std::string by = expected.function.empty() ? "" : " by " + expected.function;
        if (right) {
            verdict.notes +=
                "heapmark: " + scope.name + " left memory" + by + ", as expected: " + expected.reason + "\n";
            continue;
        }
        Finding& finding = verdict.failures.emplace_back();
        finding.file = expected.file;
        finding.line = expected.line;
        finding.title = "heapmark: " + scope.name + " left " + std::to_string(expected.seen) + " blocks" + by +
                        ", and was expected to leave " +
                        (expected.blocks == 0 ? std::string("some") : std::to_string(expected.blocks));
        finding.text = "the reason given: " + expected.reason + "\n" +
                       (expected.seen == 0 ? "if it is mended, remove this expectation\n"
                                           : "if that is right, correct the number here\n");
    }
}

/// Wrong releases by the threads of the scope since the last that was judged.
void TestSession::State::judge_faults(const OpenScope& scope, Verdict& verdict, const char* file, unsigned line)
{
    const Faults all = faults();
    for (; faults_seen < all.details.size(); ++faults_seen) {
        const Fault& fault = all.details[faults_seen];
        Block release; // what suppressions and the question whose it is go by
        release.stack = fault.stack;
        release.thread = fault.thread;
        if (!scope.judged(release)) continue;
        // The built-in ones are of leaks; and a release that ends a test may be a jump, and its stack the framework's.
        if (Suppression* suppression = suppressions.find(release); suppression != nullptr && !suppression->built_in) {
            ++suppression->matched.blocks;
            continue;
        }
        Finding& finding = verdict.failures.emplace_back(adapters::finding_of(scope.name, fault, options.source_root));
        if (finding.file.empty() && file != nullptr) {
            finding.file = file;
            finding.line = line;
        }
    }
}

Verdict TestSession::State::judge(OpenScope& scope, Range range, const char* file, unsigned line,
                                  const void* frames_end)
{
    Verdict verdict;
    verdict.name = scope.name;
    const bool grows = options.policy == Policy::growth;
    if (!grows && scope.expected.empty() && counts(range.first).blocks == 0) return verdict; // most, and cheap
    wipe_dead_stack();

    std::vector<Snapshot> stacks;
    const Snapshot own = own_blocks(scope, range, verdict);
    for (const Snapshot& stack : by_stack_of(own))
        if (!is_accepted(scope, stack, verdict)) stacks.push_back(stack);
    if (grows) repeated[scope.name].end_run(range, stacks, verdict.held);
    Explanation why;
    if (options.policy == Policy::lost && !stacks.empty()) why = keep_lost(own, stacks, verdict, frames_end);
    for (const Snapshot& stack : stacks) add(verdict.left, stack);

    const std::size_t shown =
        options.max_groups == 0 ? stacks.size() : std::min<std::size_t>(stacks.size(), options.max_groups);
    for (std::size_t i = 0; i < shown; ++i) {
        std::string what;
        if (grows) what = ", and more each time";
        if (options.policy == Policy::lost) what = how_lost(why, stacks[i][0]);
        Finding& finding =
            verdict.failures.emplace_back(adapters::finding_of(scope.name, stacks[i], what, options.source_root));
        if (finding.file.empty() && file != nullptr) {
            finding.file = file;
            finding.line = line;
            finding.text += "\nno line of the program is known for it: build with -g; this is where the test is";
        }
        if (i + 1 == shown && shown < stacks.size())
            finding.text += "\nleft out: " + std::to_string(stacks.size() - shown) +
                            " more call stacks; HEAPMARK_OPTIONS=max_groups=0 shows all";
        if (i + 1 == shown && verdict.background.blocks != 0)
            finding.text += "\nnot judged: " + in_words(verdict.background.blocks, verdict.background.bytes) +
                            " of threads that the test did not start";
        finding.text += "\nif it is meant: write \"" +
                        adapters::suppression_for(adapters::names_of(stacks[i][0].stack)) +
                        "\" into a file, and name that with HEAPMARK_OPTIONS=suppressions=FILE\n";
    }
    judge_expectations(scope, verdict);
    return verdict;
}

std::string TestSession::State::notes_on_suppressions() const
{
    constexpr std::uint64_t blocks_worth_a_warning = 20;
    std::uint64_t all = 0;
    for (const Suppression& suppression : suppressions.list())
        if (!suppression.built_in) all += suppression.matched.blocks;
    all += failing_blocks;

    std::string text;
    for (const Suppression& suppression : suppressions.list()) {
        if (suppression.built_in) continue;
        if (suppression.matched.blocks == 0)
            text += "heapmark: " + suppression.origin + ": \"" + suppression.pattern +
                    "\" matched nothing; remove it, or correct it\n";
        else if (suppression.matched.blocks * 2 > all && suppression.matched.blocks >= blocks_worth_a_warning)
            text += "heapmark: " + suppression.origin + ": \"" + suppression.pattern + "\" hides " +
                    std::to_string(suppression.matched.blocks) + " of " + std::to_string(all) +
                    " blocks; make it narrower\n";
    }
    return text;
}

TestSession::TestSession(const TestOptions& options)
{
    const framework_memory ours;
    make_output_buffer();
    state_ = new State(options);
    state_->previous = newest_session;
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

const TestOptions& TestSession::options() const noexcept { return state_->options; }

[[gnu::noinline]] void TestSession::wipe_dead_stack() noexcept
{
    char dead[16384];
    std::memset(dead, 0, sizeof dead);
    escape(&dead[0]);
}

void TestSession::wipe_before_leave() const noexcept
{
    if (!state_->open.empty() && counts(state_->open.back().first).blocks != 0) wipe_dead_stack();
}

const char* TestSession::problem() noexcept
{
    const Status now = status();
    return now.malloc_recorded && now.new_recorded ? "" : now.problem;
}

void TestSession::enter(const std::string& name)
{
    const framework_memory ours;
    const Generation first = mark(name.c_str());
    state_->open.push_back({name, first, by_this_thread_and_its_children(first), {}, {}});
}

Verdict TestSession::leave(const char* file, unsigned line, const void* frames_end)
{
    const framework_memory ours;
    OpenScope scope = std::move(state_->open.back());
    state_->open.pop_back();
    const Range range{scope.first, next(mark(), -1)};
    const Allocations used = allocations(range.first, range.last, Threads::this_one_and_its_children);
    Verdict verdict = state_->judge(scope, range, file, line, frames_end);
    verdict.used = used;
    state_->judge_faults(scope, verdict, file, line);
    if (!state_->open.empty()) state_->open.back().inner.push_back({range, scope.judged});
    if (state_->options.github)
        for (const Finding& finding : verdict.failures)
            verdict.notes += adapters::github_annotation(finding, state_->options.source_root);
    state_->failing_blocks += verdict.left.blocks;
    if (!state_->options.sarif.empty())
        state_->findings.insert(state_->findings.end(), verdict.failures.begin(), verdict.failures.end());
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
        return judged(block) && state_->suppressions.find(block) == nullptr &&
               !adapters::is_kept_by_c_library(adapters::names_of(block.stack));
    });
}

std::string TestSession::describe(const Snapshot& snapshot) const
{
    const framework_memory ours;
    std::string text;
    for (const Snapshot& stack : by_stack_of(snapshot))
        text += in_words(stack) + "\n" +
                adapters::stack_lines(adapters::names_of(stack[0].stack), state_->options.source_root);
    return text;
}

Closing TestSession::finish(bool whole)
{
    const framework_memory ours;
    Closing closing;
    const TestOptions& options = state_->options;
    if (whole) closing.text += state_->notes_on_suppressions();
    if (!options.baseline.empty()) {
        if (options.update_baseline) {
            const int error = state_->baseline.write(options.baseline);
            closing.failed = error != 0;
            closing.text += "heapmark: the baseline " +
                            (error == 0 ? "is in " + options.baseline
                                        : "cannot be written to " + options.baseline + ": " + std::strerror(error)) +
                            "\n";
        } else if (const std::string less = state_->baseline.shrinkable(); whole && !less.empty()) {
            closing.text += "heapmark: less is left than " + options.baseline +
                            " allows; HEAPMARK_OPTIONS=update_baseline=1 shrinks it\n" + less;
        }
    }
    if (!options.sarif.empty()) {
        std::ofstream file(options.sarif, std::ios::trunc);
        file << adapters::sarif(state_->findings, options.source_root);
        file.close();
        if (!file.good()) {
            closing.failed = true;
            closing.text += "heapmark: findings cannot be written to " + options.sarif + "\n";
        }
    }
    return closing;
}

} // namespace heapmark
