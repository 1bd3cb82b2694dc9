// SPDX-License-Identifier: BSL-1.0
#include "adapters/repetitions.hpp"

#include <algorithm>

namespace heapmark::adapters {

/// Whether each run but the first left blocks of this stack that still live, and there were at least two of those.
bool Repetitions::left_each_time(const Stack& stack) const
{
    if (runs_.size() < 3) return false;
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

void Repetitions::end_run(Range run, std::vector<Snapshot>& stacks, Counts& held)
{
    runs_.push_back(run);
    std::vector<Snapshot> kept;
    for (const Growing& growing : growing_)
        if (Snapshot left = alive(growing.stack); left.bytes() >= growing.bytes) kept.push_back(std::move(left));
    for (const Snapshot& stack : stacks) {
        if (std::any_of(growing_.begin(), growing_.end(),
                        [&](const Growing& growing) { return growing.stack == stack[0].stack; }))
            continue;
        if (left_each_time(stack[0].stack)) {
            growing_.push_back({stack[0].stack, alive(stack[0].stack).bytes()});
            kept.push_back(stack);
        } else {
            held.blocks += stack.size();
            held.bytes += stack.bytes();
        }
    }
    stacks = std::move(kept);
}

} // namespace heapmark::adapters
