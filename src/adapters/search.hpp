// SPDX-License-Identifier: BSL-1.0
// explain, without what the frames of a test's runner and of heapmark itself contain.
#pragma once

#include <heapmark/explain.hpp>

#include <cstdint>
#include <vector>

namespace heapmark::adapters {

/// The functions that run a test, as their frames were when it began. A word that was no pointer to a live block then,
/// and is as it was, does not mean what is born in the test: it is the address of a freed block that was used again.
class RunnerFrames {
public:
    /// `begin`: an address of this thread's stack; the frames from there on up last as long as the test, and get nothing
    /// from it. nullptr: there are none that do not. `suite`: of the suite that the test is in, which remembers its own.
    void remember(const void* begin, const RunnerFrames* suite);

    /// explain(snapshot), of blocks that were born from `first` on, in the test. Of this thread's stack the runner's
    /// frames alone may hold them, or, where there are none, what lies from `stack_begin` on up.
    [[nodiscard]] Explanation search(const Snapshot& snapshot, Generation first, const void* stack_begin) const;

private:
    class Blanked;
    class Born;
    void blank_stale(const Born& born, Blanked& blanked) const;

    const RunnerFrames* suite_ = nullptr;
    std::uintptr_t begin_ = 0;
    std::vector<std::uintptr_t> words_;   ///< from begin_ on, to those of suite_
    std::vector<std::uint32_t> pointers_; ///< which of them were addresses of live blocks, in no order
};

} // namespace heapmark::adapters
