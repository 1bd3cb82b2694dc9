// SPDX-License-Identifier: BSL-1.0
#include "adapters/judge.hpp"

#include "adapters/fault_findings.hpp"
#include "adapters/finding_text.hpp"
#include "analyse/group.hpp"
#include "suppress/given.hpp"

#include <algorithm>
#include <stdexcept>

namespace heapmark::adapters {

namespace {

void add(Counts& counts, const Snapshot& blocks)
{
    counts.blocks += blocks.size();
    counts.bytes += blocks.bytes();
}

bool is_meant_by(const ExpectedLeak& expected, const Block& block)
{
    if (expected.blames_type())
        return Snapshot::of({block}).group_by(by_type)[0].label() ==
               std::string_view(expected.function).substr(ExpectedLeak::type_prefix.size());
    return expected.function.empty() || in_function(expected.function.c_str())(block);
}

const char* how_lost(const Explanation& why, const Block& block)
{
    const auto& groups = why.lost_groups();
    if (std::any_of(groups.begin(), groups.end(), [&](const LostGroup& group) {
            return group.cycle.size() > 1 && // not a block that points to itself, as short strings do
                   std::any_of(group.cycle.begin(), group.cycle.end(),
                               [&](const Step& step) { return step.block.address == block.address; });
        }))
        return ", lost: on a cycle that nothing else points to";
    return why.reach(block.address) == Reach::lost ? ", lost: nothing points there"
                                                   : ", lost: only lost memory points there";
}

} // namespace

Judge::Judge(const TestOptions& options) : options_(options)
{
    suppress::add_files(suppressions_, options.suppressions);
    suppressions_.add_built_in();
    if (options.policy == Policy::lost) suppressions_.drop_only_held();
    if (options.update_baseline && options.baseline.empty())
        throw std::invalid_argument("update_baseline=1 needs baseline=FILE, too");
    if (!options.baseline.empty() && !options.update_baseline) baseline_.read(options.baseline);
}

bool Judge::is_suppressed(const Block& block) { return suppressions_.find(block) != nullptr; }

/// What the scope itself left: without what inner tests answered for, and what others' threads made meanwhile.
Snapshot Judge::own_blocks(const OpenScope& scope, Range range, Verdict& verdict) const
{
    return survivors(range.first, range.last).filter([&](const Block& block) {
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

/// Whether the blocks of one stack are meant: suppressed, or expected by the test.
bool Judge::is_accepted(OpenScope& scope, const Snapshot& stack, Verdict& verdict)
{
    const Block& block = stack[0];
    if (Suppression* suppression = suppressions_.find(block)) {
        add(suppression->matched, stack);
        add(verdict.suppressed, stack);
        return true;
    }
    // Where holders are looked for, the library's tables and caches have one.
    if (options_.policy != Policy::lost && is_kept_by_c_library(block)) {
        add(verdict.suppressed, stack);
        return true;
    }
    for (ExpectedLeak& expected : scope.expected) {
        if (!is_meant_by(expected, block)) continue;
        expected.seen += stack.size();
        add(verdict.expected, stack);
        return true;
    }
    return false;
}

/// Of the blocks those that are not meant, by a suppression, an expectation or the baseline.
Snapshot Judge::without_what_is_meant(OpenScope& scope, const Snapshot& own, Verdict& verdict)
{
    std::vector<Stack> meant;
    std::map<std::string, std::vector<Snapshot>> others; // by call site, as the baseline has them
    for (Snapshot& stack : analyse::split_by_stack(own)) {
        if (is_accepted(scope, stack, verdict))
            meant.push_back(stack[0].stack);
        else if (!options_.baseline.empty())
            others[suppress::suppression_for(suppress::names_of(stack[0].stack))].push_back(std::move(stack));
    }
    for (const auto& [site, stacks] : others) {
        std::uint64_t blocks = 0;
        for (const Snapshot& stack : stacks) blocks += stack.size();
        baseline_.saw(scope.name, site, blocks);
        if (!options_.update_baseline && blocks > baseline_.allowed(scope.name, site)) continue;
        for (const Snapshot& stack : stacks) {
            meant.push_back(stack[0].stack);
            add(verdict.expected, stack);
        }
    }
    return own.filter(
        [&meant](const Block& block) { return std::find(meant.begin(), meant.end(), block.stack) == meant.end(); });
}

/// Finds out to what of them nothing points, and notes the others.
Explanation Judge::find_lost(const OpenScope& scope, const Snapshot& judged, Verdict& verdict,
                             const void* stack_begin) const
{
    wipe_dead_stack();
    Explanation why = scope.runner.search(judged, scope.first, stack_begin);
    if (!why.complete()) {
        // Neither an alarm that may be false nor silence.
        Finding& finding = verdict.failures.emplace_back();
        finding.title = "heapmark: " + scope.name + " left " + in_words(judged) +
                        ", and whether they are lost could not be checked";
        finding.text = std::string(why.problem()) + "\nto judge without a search: HEAPMARK_OPTIONS=policy=survivors\n";
        return why;
    }
    add(verdict.held, why.held());

    constexpr std::size_t lines_at_most = 3;
    std::string lines;
    std::size_t told = 0;
    std::size_t more = 0;
    for (const Snapshot& stack : by_stack_of(why.held())) {
        if (is_kept_by_c_library(stack[0])) continue;
        if (told < lines_at_most) {
            lines += held_line(stack, why, options_.source_root);
            ++told;
        } else {
            ++more;
        }
    }
    if (told != 0) verdict.notes += "heapmark: " + scope.name + " left memory that is still held:\n" + lines;
    if (more != 0) verdict.notes += "  and " + std::to_string(more) + " more call stacks\n";
    return why;
}

void Judge::judge_expectations(OpenScope& scope, Verdict& verdict) const
{
    for (const ExpectedLeak& expected : scope.expected) {
        const bool right = expected.blocks == 0 ? expected.seen != 0 : expected.seen == expected.blocks;
        const std::string by = expected.blames_type()      ? " of " + expected.function
                               : expected.function.empty() ? ""
                                                           : " by " + expected.function;
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
void Judge::judge_faults(const OpenScope& scope, Verdict& verdict, const char* file, unsigned line)
{
    const Faults all = faults();
    for (; faults_seen_ < all.details.size(); ++faults_seen_) {
        const Fault& fault = all.details[faults_seen_];
        Block release; // what suppressions and the question whose it is go by
        release.stack = fault.stack;
        release.thread = fault.thread;
        if (!scope.judged(release)) continue;
        // The built-in ones are of leaks; and a release that ends a test may be a jump, and its stack the framework's.
        if (Suppression* suppression = suppressions_.find(release); suppression != nullptr && !suppression->built_in) {
            ++suppression->matched.blocks;
            continue;
        }
        Finding& finding = verdict.failures.emplace_back(finding_of(scope.name, fault, options_.source_root));
        if (finding.file.empty() && file != nullptr) {
            finding.file = file;
            finding.line = line;
        }
    }
}

Verdict Judge::judge(OpenScope& scope, Range range, bool leaves_nothing, const char* file, unsigned line,
                     const void* stack_begin)
{
    Verdict verdict;
    if (!leaves_nothing || !scope.expected.empty() || options_.policy == Policy::growth)
        judge_blocks(scope, range, verdict, file, line, stack_begin);
    judge_faults(scope, verdict, file, line);
    failing_blocks_ += verdict.left.blocks;
    return verdict;
}

Finding Judge::finding_of_stack(const OpenScope& scope, const Snapshot& stack, const Explanation& why, const char* file,
                                unsigned line) const
{
    std::string what;
    if (options_.policy == Policy::growth) what = ", and more each time";
    if (options_.policy == Policy::lost) what = how_lost(why, stack[0]);
    Finding finding = finding_of(scope.name, stack, what, options_.source_root);
    if (finding.file.empty() && file != nullptr) {
        finding.file = file;
        finding.line = line;
        finding.text += "\nno line of the program is known for it: build with -g; this is where the test is";
    }
    finding.text += "\nif it is meant: write \"" + suppress::suppression_for(suppress::names_of(stack[0].stack)) +
                    "\" into a file, and name that with HEAPMARK_OPTIONS=suppressions=FILE\n";
    return finding;
}

void Judge::judge_blocks(OpenScope& scope, Range range, Verdict& verdict, const char* file, unsigned line,
                         const void* stack_begin)
{
    const bool grows = options_.policy == Policy::growth;
    Snapshot judged = without_what_is_meant(scope, own_blocks(scope, range, verdict), verdict);
    if (grows) judged = repeated_[scope.name].end_run(range, judged, verdict.held);
    Explanation why;
    if (options_.policy == Policy::lost && !judged.empty()) {
        why = find_lost(scope, judged, verdict, stack_begin);
        judged = why.complete() ? why.lost() : Snapshot();
    }
    const std::vector<Snapshot> stacks = by_stack_of(judged);
    for (const Snapshot& stack : stacks) add(verdict.left, stack);

    const std::size_t shown =
        options_.max_groups == 0 ? stacks.size() : std::min<std::size_t>(stacks.size(), options_.max_groups);
    for (std::size_t i = 0; i < shown; ++i) {
        Finding finding = finding_of_stack(scope, stacks[i], why, file, line);
        const bool is_told =
            grows && repeated_[scope.name].is_told(suppress::stack_lines(suppress::names_of(stacks[i][0].stack), ""));
        (is_told ? verdict.repeated : verdict.failures).push_back(std::move(finding));
    }
    if (!verdict.repeated.empty())
        verdict.failures.push_back(told_before(scope.name, verdict.repeated, options_.source_root));
    if (shown != 0) {
        std::string& end = verdict.failures.back().text;
        if (shown < stacks.size())
            end += "left out: " + std::to_string(stacks.size() - shown) +
                   " more call stacks; HEAPMARK_OPTIONS=max_groups=0 shows all\n";
        if (verdict.background.blocks != 0)
            end += "not judged: " + in_words(verdict.background.blocks, verdict.background.bytes) +
                   " of threads that the test did not start\n";
    }
    judge_expectations(scope, verdict);
}

std::string Judge::notes_on_repetitions() const
{
    const auto unsure =
        std::count_if(repeated_.begin(), repeated_.end(), [](const auto& test) { return !test.second.can_tell(); });
    if (unsure == 0) return {};
    return "heapmark: policy=growth judges a test from its run " + std::to_string(Repetitions::runs_needed) +
           " on, in the same process; " + std::to_string(unsure) + " have not run as often yet\n";
}

std::string Judge::notes_on_suppressions() const { return suppress::notes_on(suppressions_, failing_blocks_); }

} // namespace heapmark::adapters
