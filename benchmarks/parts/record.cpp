// SPDX-License-Identifier: BSL-1.0
// Marks, the allocation map, the depot, counts and snapshots, on invented addresses: nothing is allocated there.
#include "platform/thread_state.hpp"
#include "record/depot.hpp"
#include "record/recorder.hpp"
#include "record/threads.hpp"

#include <benchmark/benchmark.h>
#include <heapmark/heapmark.hpp>

#include <array>

namespace {

using namespace heapmark;

constexpr std::uintptr_t invented_heap = std::uintptr_t{0x1000} << record::leaf_shift;
constexpr std::size_t stride_bytes = 128;
constexpr record::Sizes sizes{100, 104};
constexpr record::Kind kind = record::Kind::malloc_family;
constexpr std::uint32_t some_site = 1234;

void* block(std::size_t index)
{
    return reinterpret_cast<void*>(invented_heap + index * stride_bytes); // NOLINT: never read
}

platform::ThreadState new_thread()
{
    platform::ThreadState state{};
    state.thread = record::add_thread(0, 0);
    state.phase = heapmark::platform::ThreadState::Phase::in_use;
    return state;
}

void allocate_all(platform::ThreadState& thread, std::size_t count)
{
    for (std::size_t i = 0; i < count; ++i) record::birth(thread, block(i), sizes, kind, some_site);
}

void release_all(platform::ThreadState& thread, std::size_t count)
{
    for (std::size_t i = 0; i < count; ++i) record::death(thread, block(i));
}

void mark_alone(benchmark::State& state)
{
    for (auto _ : state) benchmark::DoNotOptimize(mark());
}

void mark_and_first_birth(benchmark::State& state)
{
    platform::ThreadState thread = new_thread();
    for (auto _ : state) {
        mark();
        record::birth(thread, block(0), sizes, kind, some_site);
        record::death(thread, block(0));
    }
}

void birth_and_death(benchmark::State& state)
{
    platform::ThreadState thread = new_thread();
    const auto count = static_cast<std::size_t>(state.range(0));
    std::size_t i = 0;
    for (auto _ : state) {
        record::birth(thread, block(i), sizes, kind, some_site);
        benchmark::ClobberMemory();
        record::death(thread, block(i));
        i = (i + 7919) % count;
    }
}

using Frames = std::array<std::uint64_t, 20>;

/// A stack that no other call gives.
Frames invented_stack()
{
    static std::uint64_t serial = 0;
    Frames frames{};
    for (std::size_t i = 0; i < frames.size(); ++i) frames[i] = (serial << 8 | i) + 0x10'0000;
    ++serial;
    return frames;
}

void depot_hit(benchmark::State& state)
{
    const record::SiteKey key{Api::malloc, 0, 0};
    std::array<Frames, 256> stacks{};
    for (Frames& frames : stacks) {
        frames = invented_stack();
        record::intern_site(record::site_hash(key, frames), key, frames);
    }
    std::size_t i = 0;
    for (auto _ : state) {
        const Frames& frames = stacks[i++ % stacks.size()];
        benchmark::DoNotOptimize(record::intern_site(record::site_hash(key, frames), key, frames));
    }
}

void depot_miss(benchmark::State& state)
{
    const record::SiteKey key{Api::malloc, 0, 0};
    for (auto _ : state) {
        const Frames frames = invented_stack();
        benchmark::DoNotOptimize(record::intern_site(record::site_hash(key, frames), key, frames));
    }
}

void counts_of_nothing(benchmark::State& state)
{
    platform::ThreadState thread = new_thread();
    const Generation since = mark();
    allocate_all(thread, 1000);
    release_all(thread, 1000);
    for (auto _ : state) benchmark::DoNotOptimize(counts(since));
}

void snapshot(benchmark::State& state)
{
    platform::ThreadState thread = new_thread();
    const auto count = static_cast<std::size_t>(state.range(0));
    const Generation since = mark();
    allocate_all(thread, count);
    for (auto _ : state) {
        const Snapshot taken = survivors(since);
        if (taken.size() != count) state.SkipWithError("wrong number of survivors");
    }
    release_all(thread, count);
    using Counter = benchmark::Counter;
    state.counters["per_survivor"] = Counter(static_cast<double>(count) * static_cast<double>(state.iterations()),
                                             Counter::kIsRate | Counter::kInvert);
}

BENCHMARK(mark_alone)->Iterations(100'000); // each takes a generation, for ever
BENCHMARK(mark_and_first_birth)->Iterations(100'000);
BENCHMARK(birth_and_death)->Arg(1000)->Arg(400'000);
BENCHMARK(depot_hit);
BENCHMARK(depot_miss)->Iterations(100'000); // each takes depot space, for ever
BENCHMARK(counts_of_nothing);
BENCHMARK(snapshot)->Arg(100)->Arg(100'000);

} // namespace
