// SPDX-License-Identifier: BSL-1.0
// The question put to heapmark, and the report: for the program that heapmark is linked into.
#include "deep.hpp"
#include "question.hpp"

#include <heapmark/report.hpp>

#include <array>
#include <cstdlib>
#include <utility>

namespace bench {
namespace {

class HeapmarkQuestion final : public Question {
public:
    void mark() override { since_ = heapmark::mark(); }
    void ask(std::size_t expected) override
    {
        if (heapmark::survivors(since_).size() == expected) return;
        std::fprintf(stderr, "wrong number of survivors\n");
        std::exit(1);
    }

    bool can_tell_lost() override { return true; }
    void ask_lost(std::size_t expected) override
    {
        const heapmark::Explanation why = heapmark::explain(heapmark::survivors(since_));
        if (why.complete() && why.lost().size() + 1 >= expected) return; // a stale word may hold one
        std::fprintf(stderr, "%zu lost, and the search was %s\n", why.lost().size(),
                     why.complete() ? "whole" : "not whole");
        std::exit(1);
    }

private:
    heapmark::Generation since_{};
};

constexpr std::size_t sites = 1000;
void* kept[sites];

/// A function of its own for each block, so that the report has many names to find.
template <std::size_t Index>
[[gnu::noinline]] void keep_one(void*)
{
    kept[Index] = opaque(std::malloc(32));
}

template <std::size_t... Index>
constexpr std::array<void (*)(void*), sizeof...(Index)> keepers(std::index_sequence<Index...>)
{
    return {keep_one<Index>...};
}

} // namespace

std::unique_ptr<Question> make_question() { return std::make_unique<HeapmarkQuestion>(); }

void measure_marks_and_counts()
{
    constexpr int times = 20'000;
    auto start = Clock::now();
    for (int i = 0; i < times; ++i) heapmark::mark();
    print_result("mark_ns", seconds_since(start) * 1e9 / times);

    const heapmark::Generation since = heapmark::mark();
    std::free(opaque(std::malloc(100)));
    std::uint64_t blocks = 0;
    start = Clock::now();
    for (int i = 0; i < times; ++i) blocks += heapmark::counts(since).blocks;
    print_result("counts_ns", seconds_since(start) * 1e9 / times);
    if (blocks != 0) std::exit(1);
}

void run_report(const Settings& settings)
{
    const std::size_t count = settings.size == 0 ? sites : settings.size;
    constexpr auto keeper = keepers(std::make_index_sequence<sites>());
    const heapmark::Generation since = heapmark::mark("report");
    for (std::size_t i = 0; i < count && i < sites; ++i) walk<10>(i, keeper[i], nullptr);
    const heapmark::Snapshot survivors = heapmark::survivors(since);
    heapmark::TextOptions options;
    options.max_groups = 0;
    options.color = heapmark::TextOptions::Color::never;
    std::FILE* out = std::tmpfile();
    if (out == nullptr) std::exit(1);
    const auto start = Clock::now();
    heapmark::write_text(out, survivors, options);
    print_result("report_seconds", seconds_since(start));
    const auto again = Clock::now();
    heapmark::write_text(out, survivors, options);
    print_result("second_report_seconds", seconds_since(again));
    print_result("stacks", static_cast<double>(survivors.group_by(heapmark::by_stack).size()));
    print_result("report_bytes", static_cast<double>(std::ftell(out)) / 2);
    std::fclose(out);
}

} // namespace bench
