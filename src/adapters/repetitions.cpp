// SPDX-License-Identifier: BSL-1.0
#include "adapters/repetitions.hpp"

#include <algorithm>

namespace heapmark::adapters {

/// Whether each run but the first left blocks of this stack that still live, and there were at least two of those.
bool Repetitions::left_each_time(const Stack& stack) const
{
    if (!can_tell()) return false;
    constexpr std::ptrdiff_t looked_at = 5;
    const auto from =
        std::max(runs_.begin() + 1, runs_.end() - std::min<std::ptrdiff_t>(looked_at, runs_.end() - runs_.begin()));
    return std::all_of(from, runs_.end(), [&](const Range& run) {
        const Snapshot left = survivors(run.first, run.last);
        return std::any_of(left.begin(), left.end(), [&](const Block& block) { return block.stack == stack; });
    });
}

/// Of all runs.
Snapshot Repetitions::alive(const Stack& stack) const
{
    return survivors(runs_.front().first).filter([&stack](const Block& block) { return block.stack == stack; });
}

Snapshot Repetitions::end_run(Range run, const Snapshot& judged, Counts& held)
{
    runs_.push_back(run);
    std::vector<Stack> told;
    for (const Growing& growing : growing_)
        if (alive(growing.stack).bytes() >= growing.bytes) told.push_back(growing.stack);
    for (const Group& group : judged.group_by(by_stack)) {
        const Stack& stack = group.front().stack;
        if (std::any_of(growing_.begin(), growing_.end(), [&](const Growing& known) { return known.stack == stack; }))
            continue;
        if (left_each_time(stack)) {
            growing_.push_back({stack, alive(stack).bytes()});
            told.push_back(stack);
        } else {
            held.blocks += group.size();
            held.bytes += group.bytes();
        }
    }
    return survivors(runs_.front().first).filter([&told](const Block& block) {
        return std::find(told.begin(), told.end(), block.stack) != told.end();
    });
}

} // namespace heapmark::adapters
