// SPDX-License-Identifier: BSL-1.0
#include "adapters/search.hpp"

#include "platform/stack_bounds.hpp"
#include "record/recorder.hpp"

#include <algorithm>

namespace heapmark::adapters {

namespace {

using Word = std::uintptr_t;

Word* word_at(Word address) { return reinterpret_cast<Word*>(address); } // NOLINT(performance-no-int-to-ptr)

bool is_live(Word address)
{
    record::Sizes sizes;
    return address % 16 == 0 && record::is_live(record::find_block(word_at(address), sizes).kind());
}

} // namespace

/// What was born from a generation on and still lives, to be asked for many addresses, most of which are in no block:
/// block_around would walk back over the map for each.
class RunnerFrames::Born {
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

/// Words of the stack, each of which is zero for a while.
class RunnerFrames::Blanked {
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

// From test to test most is as it was, so only what is not is looked at.
void RunnerFrames::remember(const void* begin, const RunnerFrames* suite)
{
    constexpr std::size_t words_max = 8192; // main and a framework need some hundreds
    const platform::StackBounds& stack = platform::thread_state.stack;
    const Word first = reinterpret_cast<Word>(begin) / sizeof(Word) * sizeof(Word);
    Word end = stack.high;
    const auto end_before = [first, &end](Word address) {
        if (address > first && address < end) end = address;
    };
    end_before(platform::entry_stack_pointer()); // beyond are the program's arguments
    if (suite != nullptr) end_before(suite->begin_);
    suite_ = suite;
    const bool known = first >= stack.low && first < end;
    const std::size_t count = known ? std::min((end - first) / sizeof(Word), words_max) : 0;
    if (first != begin_ || count != words_.size()) {
        words_.assign(count, 0);
        pointers_.clear();
        begin_ = first;
    }
    pointers_.erase(std::remove_if(pointers_.begin(), pointers_.end(),
                                   [this](std::uint32_t i) {
                                       return words_[i] != *word_at(begin_ + i * sizeof(Word)) || !is_live(words_[i]);
                                   }),
                    pointers_.end());
    for (std::size_t i = 0; i < count; ++i) {
        const Word now = *word_at(begin_ + i * sizeof(Word));
        if (now == words_[i]) continue;
        words_[i] = now;
        if (is_live(now)) pointers_.push_back(static_cast<std::uint32_t>(i));
    }
}

void RunnerFrames::blank_stale(const Born& born, Blanked& blanked) const
{
    for (std::size_t i = 0; i < words_.size(); ++i) {
        Word* const word = word_at(begin_ + i * sizeof(Word));
        if (*word == words_[i] && std::find(pointers_.begin(), pointers_.end(), i) == pointers_.end() &&
            born.holds(*word))
            blanked.blank(word);
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
    if (is_on_this_stack) {
        const Born born(first);
        for (const RunnerFrames* frames = this; frames != nullptr; frames = frames->suite_)
            if (frames->begin_ >= begin_) frames->blank_stale(born, blanked);
    }
    return explain(snapshot, options);
}

} // namespace heapmark::adapters
