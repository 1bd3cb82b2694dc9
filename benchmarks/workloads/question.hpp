// SPDX-License-Identifier: BSL-1.0
// "What survived since the mark?", asked of whatever watches this process. One file a way of asking.
#pragma once

#include "workload.hpp"

#include <memory>

namespace bench {

class Question {
public:
    virtual ~Question() = default;
    virtual void mark() = 0;
    /// Asks. `expected` blocks were allocated since the mark and are all still live; ends the process when the answer
    /// is not that.
    virtual void ask(std::size_t expected) = 0;

    /// Whether it can be asked about lost blocks alone, and tells without a report.
    virtual bool can_tell_lost() { return false; }
    /// Asks which blocks are lost. `expected` are, of those allocated since the mark, where it can tell; else none is.
    virtual void ask_lost(std::size_t expected) { ask(expected); }
};

/// nullptr, where nobody who watches can be asked from inside the process.
std::unique_ptr<Question> make_question();

/// What only heapmark can be asked; prints figures of its own. Does nothing elsewhere.
void measure_marks_and_counts();

} // namespace bench
