// SPDX-License-Identifier: BSL-1.0
// Many old live blocks of 24 to 200 bytes from some hundred places, and what they cost in memory; then, again and again,
// a mark, 100 new blocks, and the question which survived.
#include "deep.hpp"
#include "question.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace bench {
namespace {

constexpr std::size_t new_blocks = 100;
constexpr std::size_t most_questions = 10'000;

struct Filler {
    Random random{11};
    std::vector<void*> blocks;
    double requested_bytes = 0;

    void add()
    {
        const std::size_t bytes = random.between(24, 201);
        auto* block = static_cast<char*>(opaque(std::malloc(bytes)));
        if (block == nullptr) std::abort();
        *block = 1;
        blocks.push_back(block);
        requested_bytes += static_cast<double>(bytes);
    }
};

void fill(Filler& filler, std::size_t count)
{
    filler.blocks.reserve(count);
    while (filler.blocks.size() < count)
        walk<8>(
            filler.random(), [](void* one) { static_cast<Filler*>(one)->add(); }, &filler);
}

/// Holes for new blocks all over the heap.
void free_every_64th(Filler& filler)
{
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < filler.blocks.size(); i += 64) chosen.push_back(i);
    for (std::size_t i = chosen.size(); i > 1; --i) std::swap(chosen[i - 1], chosen[filler.random.between(0, i)]);
    for (const std::size_t i : chosen) {
        std::free(filler.blocks[i]);
        filler.blocks[i] = nullptr;
    }
}

double quantile(std::vector<double>& values, double share)
{
    const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<std::size_t>(at)];
}

void ask_again_and_again(Question& question, Filler& filler, double seconds)
{
    std::vector<double> asked_us;
    asked_us.reserve(most_questions);
    std::vector<void*> fresh(new_blocks);
    const auto begin = Clock::now();
    do {
        question.mark();
        for (void*& block : fresh) block = opaque(std::malloc(filler.random.between(24, 201)));
        const auto start = Clock::now();
        question.ask(new_blocks);
        asked_us.push_back(seconds_since(start) * 1e6);
        for (void* block : fresh) std::free(block);
    } while (asked_us.size() < most_questions && seconds_since(begin) < seconds);
    print_result("question_us", quantile(asked_us, 0.5));
    print_result("question_us_low", quantile(asked_us, 0.25));
    print_result("question_us_high", quantile(asked_us, 0.75));
    print_result("questions", static_cast<double>(asked_us.size()));
}

} // namespace

void run_million(const Settings& settings)
{
    const std::size_t count = settings.size == 0 ? 1'000'000 : settings.size;
    Filler filler;
    filler.blocks.resize(count); // so that the list's own pages are there before and after
    filler.blocks.clear();
    const double before = resident_bytes();
    fill(filler, count);
    print_result("growth_bytes", resident_bytes() - before);
    print_result("requested_bytes", filler.requested_bytes);
    print_result("blocks", static_cast<double>(count));
    if (settings.scattered) free_every_64th(filler);

    if (const std::unique_ptr<Question> question = make_question()) {
        ask_again_and_again(*question, filler, settings.seconds);
        measure_marks_and_counts();
    }
    // The blocks live to the end, and are then not freed one by one.
    opaque(filler.blocks.data());
    print_result("peak_bytes", peak_resident_bytes());
    std::fflush(stdout);
    std::_Exit(0);
}

} // namespace bench
