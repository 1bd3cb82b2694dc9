// SPDX-License-Identifier: BSL-1.0
#include "adapters/search.hpp"

#include "platform/thread_state.hpp"

#include <algorithm>

namespace heapmark::adapters {

namespace {

using Word = std::uintptr_t;

/// Words of the stack, each of which is zero for a while.
class Blanked {
public:
    ~Blanked()
    {
        for (const auto& [word, value] : kept_) *word = value;
    }
    Blanked() = default;
    Blanked(const Blanked&) = delete;
    Blanked& operator=(const Blanked&) = delete;

    void blank(Word* word)
    {
        kept_.push_back({word, *word});
        *word = 0;
        escape(word);
    }

private:
    struct Kept {
        Word* word;
        Word value;
    };
    std::vector<Kept> kept_;
};

Word* word_at(Word address) { return reinterpret_cast<Word*>(address); } // NOLINT(performance-no-int-to-ptr)

/// What was born from a generation on and still lives, to be asked for many addresses, most of which are in no block:
/// block_around would walk back over the map for each.
class Born {
public:
    explicit Born(Generation first) : blocks_(survivors(first, Ignored::include)) {}

    [[nodiscard]] bool holds(Word address) const
    {
        const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), address,
                                            [](Word value, const Block& block) { return value < begin_of(block); });
        if (after == blocks_.begin()) return false;
        const Block& block = *std::prev(after);
        return address == begin_of(block) || address - begin_of(block) < block.usable_size;
    }

private:
    static Word begin_of(const Block& block) { return reinterpret_cast<Word>(block.address); }

    Snapshot blocks_; // in order of address
};

} // namespace

void RunnerFrames::remember(const void* begin)
{
    constexpr std::size_t words_max = 8192; // main and a framework need a tenth of it
    const platform::StackBounds& stack = platform::thread_state.stack;
    begin_ = reinterpret_cast<Word>(begin) / sizeof(Word) * sizeof(Word);
    words_.clear();
    if (begin_ < stack.low || begin_ >= stack.high) return;
    words_.assign(word_at(begin_), word_at(begin_) + std::min((stack.high - begin_) / sizeof(Word), words_max));
}

// Frames have room that they do not use, and registers are kept in them, so words of frames that were there before are
// left between those in use.
Explanation RunnerFrames::search(const Snapshot& snapshot, Generation first, const void* stack_begin) const
{
    const Word below = reinterpret_cast<Word>(stack_begin);
    const bool is_on_this_stack = begin_ > below && begin_ < platform::thread_state.stack.high;
    ExplainOptions options;
    options.stack_begin = is_on_this_stack ? word_at(begin_) : stack_begin;
    Blanked blanked;
    if (is_on_this_stack) {
        const Born born(first);
        for (std::size_t i = 0; i < words_.size(); ++i)
            if (const Word now = *word_at(begin_ + i * sizeof(Word)); now == words_[i] && born.holds(now))
                blanked.blank(word_at(begin_ + i * sizeof(Word)));
    }
    return explain(snapshot, options);
}

} // namespace heapmark::adapters
