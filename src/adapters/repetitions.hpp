// SPDX-License-Identifier: BSL-1.0
// What a test leaves when it is run again and again: Policy::growth.
#pragma once

#include <heapmark/adapter.hpp>

#include <set>
#include <string>
#include <vector>

namespace heapmark::adapters {

/// Generations from `first` to `last`, in which a test ran.
struct Range {
    Generation first;
    Generation last;

    [[nodiscard]] bool holds(const Block& block) const { return first <= block.generation && block.generation <= last; }
};

/// The runs of one test.
class Repetitions {
public:
    /// The run that left these blocks has ended. Returns the blocks, of all runs, of the stacks by which the test leaves
    /// memory each time, also where that was seen before and they have not become less: what grows by doubling leaves
    /// nothing new for a while. `held` counts the rest.
    [[nodiscard]] Snapshot end_run(Range run, const Snapshot& judged, Counts& held);

    /// Whether an earlier run has told of it; it has been told from now on.
    [[nodiscard]] bool is_told(const std::string& stack) { return !told_.insert(stack).second; }

    [[nodiscard]] bool can_tell() const noexcept { return runs_.size() >= runs_needed; }
    static constexpr std::size_t runs_needed = 3;

private:
    /// A stack by which memory was left each time, and the bytes that were alive when that was seen.
    struct Growing {
        Stack stack;
        std::uint64_t bytes;
    };

    [[nodiscard]] bool left_each_time(const Stack& stack) const;
    [[nodiscard]] Snapshot alive(const Stack& stack) const;

    std::vector<Range> runs_;
    std::vector<Growing> growing_;
    std::set<std::string> told_; ///< stacks, as people read them
};

} // namespace heapmark::adapters
