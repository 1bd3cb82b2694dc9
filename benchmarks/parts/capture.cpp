// SPDX-License-Identifier: BSL-1.0
// What a stack costs: the whole walk, and what a thread's stack cache makes of it. This file keeps frame pointers, as
// the overridden functions do.
#include "levels.hpp"

#include "capture/capture.hpp"
#include "capture/known_stacks.hpp"
#include "platform/stack_bounds.hpp"

#include <benchmark/benchmark.h>

#include <memory>

namespace {

using namespace heapmark::capture;
namespace with_fp = bench::with_frame_pointers;
namespace without_fp = bench::without_frame_pointers;

constexpr unsigned frames_walked_anew = 8 + 1; ///< the levels of descend_and_walk, and the step at their end

struct Taker {
    explicit Taker(benchmark::State& measured) : state(measured) { known->begin(max_depth_frames); }

    benchmark::State& state;
    std::unique_ptr<KnownStacks> known = std::make_unique<KnownStacks>();
    std::unique_ptr<StackCache> stacks = std::make_unique<StackCache>();
    std::unique_ptr<RuleCache> rules = std::make_unique<RuleCache>();
    heapmark::platform::StackBounds stack = heapmark::platform::stack_of_this_thread();
    std::uint64_t frames[max_depth_frames] = {};
    std::uint64_t frame_count = 0;

    void report() const
    {
        using Counter = benchmark::Counter;
        state.counters["per_frame"] = Counter(static_cast<double>(frame_count), Counter::kIsRate | Counter::kInvert);
    }
};

[[gnu::noinline]] void take_whole(Taker& taker)
{
    const Caller caller = caller_of(HEAPMARK_FRAME());
    taker.frame_count += capture_stack(caller, taker.stack, taker.rules.get(), taker.frames, max_depth_frames);
    benchmark::ClobberMemory();
}

[[gnu::noinline]] unsigned take_refreshed(Taker& taker)
{
    const Caller caller = caller_of(HEAPMARK_FRAME());
    if (std::uint32_t count = taker.known->find(caller, 1); count != 0) return count;
    const Refreshed found = refresh(*taker.stacks, *taker.rules, caller, taker.stack, max_depth_frames);
    if (found.count == 0) taker.state.SkipWithError("the general walk was needed");
    taker.known->keep(*taker.stacks, found, caller, 1, found.count);
    return found.count;
}

void whole_loop(void* given)
{
    auto& taker = *static_cast<Taker*>(given);
    for (auto _ : taker.state) take_whole(taker);
}

void refresh_loop(void* given)
{
    auto& taker = *static_cast<Taker*>(given);
    for (auto _ : taker.state) taker.frame_count += take_refreshed(taker);
}

using Descend = void (*)(void (*)(void*), void*);

void whole_walk(benchmark::State& state, Descend descend)
{
    Taker taker(state);
    descend(whole_loop, &taker);
    taker.report();
}

void unchanged(benchmark::State& state, Descend descend)
{
    Taker taker(state);
    descend(refresh_loop, &taker);
    taker.report();
}

bool goes_on(void* given) { return static_cast<Taker*>(given)->state.KeepRunning(); }

void inner_frames_changed(benchmark::State& state)
{
    Taker taker(state);
    without_fp::descend_and_walk(
        [](void* given) {
            auto& each = *static_cast<Taker*>(given);
            if (take_refreshed(each) != 0) each.frame_count += frames_walked_anew;
        },
        &taker, goes_on);
    taker.report();
}

/// What of inner_frames_changed is the benchmark's own calling.
void calls_alone(benchmark::State& state)
{
    Taker taker(state);
    without_fp::descend_and_walk(
        [](void* given) {
            static_cast<Taker*>(given)->frame_count += frames_walked_anew;
            benchmark::ClobberMemory();
        },
        &taker, goes_on);
    taker.report();
}

BENCHMARK_CAPTURE(whole_walk, 8_without_frame_pointers, without_fp::descend_8);
BENCHMARK_CAPTURE(whole_walk, 32_without_frame_pointers, without_fp::descend_32);
BENCHMARK_CAPTURE(whole_walk, 8_with_frame_pointers, with_fp::descend_8);
BENCHMARK_CAPTURE(whole_walk, 32_with_frame_pointers, with_fp::descend_32);
BENCHMARK_CAPTURE(unchanged, 8_without_frame_pointers, without_fp::descend_8);
BENCHMARK_CAPTURE(unchanged, 32_without_frame_pointers, without_fp::descend_32);
BENCHMARK_CAPTURE(unchanged, 32_with_frame_pointers, with_fp::descend_32);
BENCHMARK(inner_frames_changed);
BENCHMARK(calls_alone);

} // namespace
