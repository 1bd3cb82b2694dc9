// SPDX-License-Identifier: BSL-1.0
// Benchmarks that allocate known numbers of blocks and bytes.
#include <benchmark/benchmark.h>

#include <cstdlib>

namespace {

void allocates_nothing(benchmark::State& state)
{
    for (auto _ : state) benchmark::ClobberMemory();
}
BENCHMARK(allocates_nothing);

void allocates_three_of_100(benchmark::State& state)
{
    for (auto _ : state)
        for (int i = 0; i < 3; ++i) {
            void* block = std::malloc(100);
            benchmark::DoNotOptimize(block);
            std::free(block);
        }
}
BENCHMARK(allocates_three_of_100);

void keeps_1000_each_time(benchmark::State& state)
{
    static void* kept[100];
    static std::size_t runs = 0;
    for (auto _ : state) benchmark::DoNotOptimize(kept);
    kept[runs++ % 100] = std::malloc(1000);
}
BENCHMARK(keeps_1000_each_time);

void holds_ten_of_500(benchmark::State& state)
{
    for (auto _ : state) {
        void* blocks[10];
        for (void*& block : blocks) benchmark::DoNotOptimize(block = std::malloc(500));
        for (void* block : blocks) std::free(block);
    }
}
BENCHMARK(holds_ten_of_500);

} // namespace
