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

bool is_born_since(Generation first, Word address)
{
    const Snapshot block = block_around(word_at(address));
    return !block.empty() && block[0].generation >= first;
}

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
    for (std::size_t i = 0; i < words_.size() && is_on_this_stack; ++i)
        if (const Word now = *word_at(begin_ + i * sizeof(Word)); now == words_[i] && is_born_since(first, now))
            blanked.blank(word_at(begin_ + i * sizeof(Word)));
    return explain(snapshot, options);
}

} // namespace heapmark::adapters
