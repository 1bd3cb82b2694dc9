// SPDX-License-Identifier: BSL-1.0
// What the report at exit passes over: memory that the files of HEAPMARK_OPTIONS=suppressions=FILE say is meant.
#pragma once

#include <heapmark/explain.hpp>
#include <heapmark/suppressions.hpp>

#include <string>
#include <string_view>

namespace heapmark {

/// Lives as long as the process. The caller of each function holds a Guard.
class Meant {
public:
    /// `judges_held`: held memory is reported like lost; otherwise entries of held memory alone are passed over.
    /// Errors: as Suppressions::add_file.
    void read(std::string_view paths, bool judges_held);

    /// The blocks that no suppression matches. Cost: names are looked up once a distinct stack.
    [[nodiscard]] Snapshot without_matched(const Snapshot& blocks);

    /// Of the blocks of `why` those that no suppression matches and that hang on no lost block that one matches: what only
    /// a known leak leads to is known with it, where the search was complete.
    [[nodiscard]] Snapshot without_matched(const Snapshot& blocks, const Explanation& why);

    /// How much each has matched; `whole`: also which have matched nothing, or too much of all with `other_blocks`.
    [[nodiscard]] std::string in_words(bool whole, std::uint64_t other_blocks) const;

private:
    Suppressions suppressions_;
};

} // namespace heapmark
