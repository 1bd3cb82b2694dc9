// SPDX-License-Identifier: BSL-1.0
#include "api/meant.hpp"

#include "report/words.hpp"
#include "suppress/given.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_set>

namespace heapmark {

namespace {

void add(Counts& counts, const Block& block)
{
    ++counts.blocks;
    counts.bytes += block.size;
}

std::string in_words(const Counts& counts)
{
    return report::count_of(counts.blocks, "block") + ", " + report::bytes_in_words(counts.bytes);
}

/// What a suppression goes by is looked at once, however many blocks have it.
class Finder {
public:
    explicit Finder(Suppressions& suppressions) : suppressions_(suppressions) {}

    Suppression* find(const Block& block)
    {
        const auto [known, is_new] =
            known_.try_emplace({block.stack.begin(), block.stack.size(), block.tag, block.api}, nullptr);
        if (is_new) known->second = suppressions_.find(block);
        return known->second;
    }

private:
    Suppressions& suppressions_;
    std::map<std::tuple<const Frame*, std::size_t, std::string_view, Api>, Suppression*> known_;
};

Snapshot without(const Snapshot& blocks, const std::unordered_set<const void*>& passed_over)
{
    return blocks.filter([&](const Block& block) { return !passed_over.contains(block.address); });
}

} // namespace

void Meant::read(std::string_view paths, bool judges_held)
{
    suppress::add_files(suppressions_, paths);
    if (!judges_held) suppressions_.drop_only_held();
}

Snapshot Meant::without_matched(const Snapshot& blocks) { return without_matched(blocks, Explanation()); }

Snapshot Meant::without_matched(const Snapshot& blocks, const Explanation& why)
{
    if (suppressions_.list().empty()) return blocks;
    Finder finder(suppressions_);
    std::unordered_set<const void*> passed_over;
    const auto pass_over = [&](Suppression* suppression, const Block& block) {
        if (suppression != nullptr && passed_over.insert(block.address).second) add(suppression->matched, block);
    };
    for (const Block& block : blocks) pass_over(finder.find(block), block);
    if (why.complete()) { // otherwise the groups may be wrong
        for (const LostGroup& group : why.lost_groups()) {
            Suppression* known = finder.find(group.root); // it may be older than the survivors
            for (const Step& step : group.cycle)
                if (known == nullptr) known = finder.find(step.block);
            for (const Block& block : group.blocks) pass_over(known, block);
        }
    }
    return passed_over.empty() ? blocks : without(blocks, passed_over);
}

std::string Meant::in_words(bool whole, std::uint64_t other_blocks) const
{
    Counts all;
    std::string lines;
    for (const Suppression& suppression : suppressions_.list()) {
        if (suppression.matched.blocks == 0) continue;
        all.blocks += suppression.matched.blocks;
        all.bytes += suppression.matched.bytes;
        lines += "  " + heapmark::in_words(suppression.matched) + "  by " + suppression.origin + ": \"" +
                 suppression.pattern + "\"" + (suppression.reason.empty() ? "" : "  (" + suppression.reason + ")") +
                 "\n";
    }
    std::string text;
    if (all.blocks != 0) text = "suppressed: " + heapmark::in_words(all) + "\n" + lines;
    if (whole) text += suppress::notes_on(suppressions_, other_blocks);
    return text;
}

} // namespace heapmark
