// SPDX-License-Identifier: BSL-1.0
// Many live blocks of 64 bytes, each held by the one before it or by an array, and ten that are new: which are lost?
// heapmark is asked about ten that are. The others, who check the whole heap, find none lost: their reports would be
// measured otherwise.
#include "question.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace bench {
namespace {

constexpr std::size_t new_blocks = 10;
constexpr std::size_t block_bytes = 64;
constexpr std::size_t most_questions = 15;

void* make_block()
{
    void* block = opaque(std::malloc(block_bytes));
    if (block == nullptr) std::abort();
    std::memset(block, 0, block_bytes);
    return block;
}

/// Every eighth is in the array that is returned; each of the others in the one before it.
std::vector<void**> make_heap(std::size_t count)
{
    std::vector<void**> firsts;
    firsts.reserve(count / 8 + 1);
    void** last = nullptr;
    for (std::size_t i = 0; i < count; ++i) {
        auto** block = static_cast<void**>(make_block());
        if (i % 8 == 0)
            firsts.push_back(block);
        else
            last[3] = block;
        last = block;
    }
    return firsts;
}

[[gnu::noinline]] void make_new(std::vector<void*>& kept, bool keep)
{
    for (std::size_t i = 0; i < new_blocks; ++i) {
        void* block = make_block();
        if (keep) kept.push_back(block);
    }
}

[[gnu::noinline]] void wipe_dead_stack()
{
    char dead[16384];
    std::memset(dead, 0, sizeof dead);
    opaque(&dead[0]);
}

} // namespace

void run_lost(const Settings& settings)
{
    const std::unique_ptr<Question> question = make_question();
    if (question == nullptr) {
        std::fprintf(stderr, "lost: nobody can be asked\n");
        std::exit(3);
    }
    const std::vector<void**> heap = make_heap(settings.size == 0 ? 1'000'000 : settings.size);
    std::vector<void*> kept;
    kept.reserve(new_blocks * most_questions);
    std::vector<double> asked_ms;
    const auto begin = Clock::now();
    do {
        question->mark();
        make_new(kept, !question->can_tell_lost());
        wipe_dead_stack();
        const auto start = Clock::now();
        question->ask_lost(new_blocks);
        asked_ms.push_back(seconds_since(start) * 1e3);
    } while (asked_ms.size() < most_questions && (asked_ms.size() < 3 || seconds_since(begin) < settings.seconds));
    std::sort(asked_ms.begin(), asked_ms.end());
    print_result("lost_ms", asked_ms[asked_ms.size() / 2]);
    print_result("lost_ms_low", asked_ms[asked_ms.size() / 4]);
    print_result("lost_ms_high", asked_ms[asked_ms.size() * 3 / 4]);
    opaque(const_cast<void***>(heap.data()));
    opaque(kept.data());
    std::fflush(stdout);
    std::_Exit(0);
}

} // namespace bench
