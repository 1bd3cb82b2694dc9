// SPDX-License-Identifier: BSL-1.0
#include "adapters/judge.hpp"

#include "adapters/fault_findings.hpp"
#include "adapters/finding_text.hpp"
#include "analyse/group.hpp"

#include <algorithm>
#include <stdexcept>

namespace heapmark::adapters {

namespace {

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
    for (const std::string& file : split(options.suppressions, ',')) suppressions_.add_file(file);
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
            others[suppression_for(names_of(stack[0].stack))].push_back(std::move(stack));
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
        finding.title = "heapmark: " + verdict.name + " left " + in_words(judged) +
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
    if (told != 0) verdict.notes += "heapmark: " + verdict.name + " left memory that is still held:\n" + lines;
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

Verdict Judge::judge(OpenScope& scope, Range range, const char* file, unsigned line, const void* stack_begin)
{
    Verdict verdict;
    verdict.name = scope.name;
    const bool leaves_nothing = scope.expected.empty() && counts(range.first).blocks == 0; // most, and cheap
    if (!leaves_nothing || options_.policy == Policy::growth)
        judge_blocks(scope, range, verdict, file, line, stack_begin);
    judge_faults(scope, verdict, file, line);
    failing_blocks_ += verdict.left.blocks;
    return verdict;
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
        std::string what;
        if (grows) what = ", and more each time";
        if (options_.policy == Policy::lost) what = how_lost(why, stacks[i][0]);
        Finding& finding = verdict.failures.emplace_back(finding_of(scope.name, stacks[i], what, options_.source_root));
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
        finding.text += "\nif it is meant: write \"" + suppression_for(names_of(stacks[i][0].stack)) +
                        "\" into a file, and name that with HEAPMARK_OPTIONS=suppressions=FILE\n";
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

std::string Judge::notes_on_suppressions() const
{
    constexpr std::uint64_t blocks_worth_a_warning = 20;
    std::uint64_t all = 0;
    for (const Suppression& suppression : suppressions_.list())
        if (!suppression.built_in) all += suppression.matched.blocks;
    all += failing_blocks_;

    std::string text;
    for (const Suppression& suppression : suppressions_.list()) {
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

} // namespace heapmark::adapters
