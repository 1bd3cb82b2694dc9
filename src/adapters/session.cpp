// SPDX-License-Identifier: BSL-1.0
// The judge: what belongs to which test, and which of it fails the test.
#include "adapters/baseline.hpp"
#include "adapters/c_library.hpp"
#include "adapters/ci_forms.hpp"
#include "adapters/named_stack.hpp"

#include <heapmark/adapter.hpp>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>

namespace heapmark {

namespace {

using adapters::NamedCall;
using adapters::NamedStack;

constexpr Generation next(Generation generation, std::int64_t step = 1)
{
    return Generation{static_cast<std::uint64_t>(static_cast<std::int64_t>(generation) + step)};
}

struct Range {
    Generation first;
    Generation last;

    [[nodiscard]] bool holds(const Block& block) const { return first <= block.generation && block.generation <= last; }
};

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

std::string in_words(std::uint64_t blocks, std::uint64_t bytes)
{
    return std::to_string(blocks) + (blocks == 1 ? " block, " : " blocks, ") + std::to_string(bytes) +
           (bytes == 1 ? " byte" : " bytes");
}

std::string in_words(const Snapshot& blocks) { return in_words(blocks.size(), blocks.bytes()); }

/// One snapshot a call stack, largest first.
std::vector<Snapshot> by_stack_of(const Snapshot& blocks)
{
    std::vector<Snapshot> stacks;
    for (const Group& group : blocks.group_by(by_stack)) stacks.push_back(group.snapshot());
    return stacks;
}

std::string site_of(const NamedStack& stack)
{
    const NamedCall* site = stack.site_call();
    if (site == nullptr) return "(no stack)";
    if (!site->bare_name.empty()) return site->bare_name;
    return site->module.empty() ? "(unknown)" : std::string(site->module.substr(site->module.rfind('/') + 1));
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

TestSession* newest_session = nullptr;

} // namespace

struct TestSession::State {
    TestOptions options;
    Suppressions suppressions;
    adapters::Baseline baseline;
    std::vector<OpenScope> open;
    std::map<std::string, std::vector<Range>> runs; ///< of each test, for Policy::growth
    std::vector<Finding> findings;                  ///< of all tests, for SARIF
    std::uint64_t judged_stacks = 0;
    TestSession* previous = nullptr;

    explicit State(const TestOptions& chosen) : options(chosen)
    {
        for (const std::string& file : split(options.suppressions, ',')) suppressions.add_file(file);
        suppressions.add_built_in();
        if (!options.baseline.empty() && !options.update_baseline) baseline.read(options.baseline);
    }

    Verdict judge(OpenScope& scope, Range range, const char* file, unsigned line);
    Snapshot own_blocks(const OpenScope& scope, Range range, Verdict& verdict) const;
    bool is_accepted(OpenScope& scope, const Snapshot& stack, Verdict& verdict);
    bool keeps_growing(const OpenScope& scope, const Snapshot& stack) const;
    Finding finding(const OpenScope& scope, const Snapshot& stack) const;
    void judge_expectations(OpenScope& scope, Verdict& verdict) const;
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
    if (adapters::is_kept_by_c_library(adapters::names_of(stack[0].stack))) {
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
        const std::string site = site_of(adapters::names_of(stack[0].stack));
        baseline.saw(scope.name, site, stack.size());
        if (options.update_baseline || stack.size() <= baseline.allowed(scope.name, site)) {
            add(verdict.expected, stack);
            return true;
        }
    }
    return false;
}

/// Whether each run after the first left blocks of this stack that still live, and there were at least two of those.
bool TestSession::State::keeps_growing(const OpenScope& scope, const Snapshot& stack) const
{
    const auto found = runs.find(scope.name);
    if (found == runs.end() || found->second.size() < 2) return false; // those before this one
    const std::vector<Range>& earlier = found->second;
    constexpr std::ptrdiff_t looked_at = 4;
    const auto from = std::max(earlier.begin() + 1,
                               earlier.end() - std::min<std::ptrdiff_t>(looked_at, earlier.end() - earlier.begin()));
    return std::all_of(from, earlier.end(), [&](const Range& run) {
        const Snapshot left = heapmark::survivors(run.first, run.last);
        return std::any_of(left.begin(), left.end(), [&](const Block& block) { return block.stack == stack[0].stack; });
    });
}

Finding TestSession::State::finding(const OpenScope& scope, const Snapshot& stack) const
{
    const NamedStack& names = adapters::names_of(stack[0].stack);
    Finding finding;
    finding.blocks = stack;
    finding.site = site_of(names);
    if (const NamedCall* place = names.place()) {
        finding.file = place->call.file;
        finding.line = place->call.line;
    }
    finding.title = "heapmark: " + scope.name + " left " + in_words(stack);
    if (options.policy == Policy::growth) finding.title += " again, as each time before";
    finding.text = adapters::stack_lines(names, options.source_root);
    finding.text += "asked for with " + std::string(to_string(stack[0].api));
    if (stack[0].thread != this_thread())
        finding.text +=
            " by thread " + std::to_string(static_cast<std::uint32_t>(stack[0].thread)) + ", which the test started";
    if (!stack[0].tag.empty()) finding.text += ", tag \"" + std::string(stack[0].tag) + "\"";
    return finding;
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

Verdict TestSession::State::judge(OpenScope& scope, Range range, const char* file, unsigned line)
{
    Verdict verdict;
    verdict.name = scope.name;
    if (scope.expected.empty() && counts(range.first).blocks == 0) return verdict; // the common case, and cheap

    Snapshot failing;
    std::vector<Snapshot> stacks;
    for (const Snapshot& stack : by_stack_of(own_blocks(scope, range, verdict))) {
        ++judged_stacks;
        if (is_accepted(scope, stack, verdict)) continue;
        if (options.policy == Policy::growth && !keeps_growing(scope, stack)) {
            add(verdict.held, stack);
            continue;
        }
        add(verdict.left, stack);
        stacks.push_back(stack);
    }

    const std::size_t shown =
        options.max_groups == 0 ? stacks.size() : std::min<std::size_t>(stacks.size(), options.max_groups);
    for (std::size_t i = 0; i < shown; ++i) {
        Finding& finding = verdict.failures.emplace_back(this->finding(scope, stacks[i]));
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
    for (const Finding& finding : findings) all += finding.blocks.size();

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
    const ignore ours;
    state_ = new State(options);
    state_->previous = newest_session;
    newest_session = this;
}

TestSession::~TestSession()
{
    newest_session = state_->previous;
    delete state_;
}

TestSession* TestSession::current() noexcept { return newest_session; }

const TestOptions& TestSession::options() const noexcept { return state_->options; }

const char* TestSession::problem() noexcept
{
    const Status now = status();
    return now.malloc_recorded && now.new_recorded ? "" : now.problem;
}

void TestSession::enter(const std::string& name)
{
    const ignore ours;
    const Generation first = mark(name.c_str());
    state_->open.push_back({name, first, by_this_thread_and_its_children(first), {}, {}});
}

Verdict TestSession::leave(const char* file, unsigned line)
{
    const ignore ours;
    OpenScope scope = std::move(state_->open.back());
    state_->open.pop_back();
    const Range range{scope.first, next(mark(), -1)};
    Verdict verdict = state_->judge(scope, range, file, line);
    if (state_->options.policy == Policy::growth) state_->runs[scope.name].push_back(range);
    if (!state_->open.empty()) state_->open.back().inner.push_back({range, scope.judged});
    if (state_->options.github)
        for (const Finding& finding : verdict.failures)
            verdict.notes += adapters::github_annotation(finding, state_->options.source_root);
    if (!verdict.failures.empty())
        state_->findings.insert(state_->findings.end(), verdict.failures.begin(), verdict.failures.end());
    return verdict;
}

void TestSession::expect_leak(const char* reason, const char* function, std::uint64_t blocks, const char* file,
                              unsigned line)
{
    const ignore ours;
    if (!state_->open.empty()) state_->open.back().expected.push_back({reason, function, blocks, file, line});
}

Snapshot TestSession::survivors(Generation first, Generation last)
{
    const ignore ours;
    const by_this_thread_and_its_children judged(first);
    return heapmark::survivors(first, last).filter([&](const Block& block) {
        return judged(block) && state_->suppressions.find(block) == nullptr &&
               !adapters::is_kept_by_c_library(adapters::names_of(block.stack));
    });
}

std::string TestSession::describe(const Snapshot& snapshot) const
{
    const ignore ours;
    std::string text;
    for (const Snapshot& stack : by_stack_of(snapshot))
        text += in_words(stack) + "\n" +
                adapters::stack_lines(adapters::names_of(stack[0].stack), state_->options.source_root);
    return text;
}

Closing TestSession::finish(bool whole)
{
    const ignore ours;
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
