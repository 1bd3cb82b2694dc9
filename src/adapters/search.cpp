// SPDX-License-Identifier: BSL-1.0
#include "adapters/search.hpp"

#include "platform/stack_bounds.hpp"
#include "record/recorder.hpp"

#include <algorithm>
#include <cstring>

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

bool is_live(Word address)
{
    record::Sizes sizes;
    return address % 16 == 0 && record::is_live(record::find_block(word_at(address), sizes).kind());
}

bool is_born_since(Generation first, Word address)
{
    const Snapshot block = block_around(word_at(address));
    return !block.empty() && block[0].generation >= first;
}

} // namespace

// From test to test most is as it was, so only what is not is looked at.
void RunnerFrames::remember(const void* begin)
{
    constexpr std::size_t words_max = 8192; // main and a framework need some hundreds
    constexpr std::size_t part = 16;
    const platform::StackBounds& stack = platform::thread_state.stack;
    const Word first = reinterpret_cast<Word>(begin) / sizeof(Word) * sizeof(Word);
    if (first != begin_) {
        words_.clear();
        pointers_.clear();
        begin_ = first;
        if (first < stack.low || first >= stack.high) return;
        const Word entry = platform::entry_stack_pointer();
        const Word end = entry > first && entry < stack.high ? entry : stack.high;
        words_.resize(std::min((end - first) / sizeof(Word), words_max) / part * part);
    }
    pointers_.erase(std::remove_if(pointers_.begin(), pointers_.end(),
                                   [this](std::uint32_t i) {
                                       return words_[i] != *word_at(begin_ + i * sizeof(Word)) || !is_live(words_[i]);
                                   }),
                    pointers_.end());
    for (std::size_t i = 0; i < words_.size(); i += part) {
        const Word* const now = word_at(begin_ + i * sizeof(Word));
        if (std::memcmp(now, &words_[i], part * sizeof(Word)) == 0) continue;
        for (std::size_t j = i; j < i + part; ++j) {
            if (now[j - i] == words_[j]) continue;
            words_[j] = now[j - i];
            if (is_live(words_[j])) pointers_.push_back(static_cast<std::uint32_t>(j));
        }
    }
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
    for (std::size_t i = 0; i < words_.size() && is_on_this_stack; ++i) {
        Word* const word = word_at(begin_ + i * sizeof(Word));
        if (*word == words_[i] && std::find(pointers_.begin(), pointers_.end(), i) == pointers_.end() &&
            is_born_since(first, *word))
            blanked.blank(word);
    }
    return explain(snapshot, options);
}

} // namespace heapmark::adapters
