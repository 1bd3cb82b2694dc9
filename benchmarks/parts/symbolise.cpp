// SPDX-License-Identifier: BSL-1.0
// What names cost: the first frame of a module, which reads its debug information, and frames after it.
#include "platform/modules.hpp"

#include <benchmark/benchmark.h>
#include <heapmark/report.hpp>

namespace {

using namespace heapmark;

/// Addresses all over the code of this program; each is told once.
Frame fresh_frame()
{
    static const platform::Module* self = platform::module_at(reinterpret_cast<std::uintptr_t>(&fresh_frame));
    static auto address = reinterpret_cast<std::uintptr_t>(&fresh_frame);
    address += 8;
    return Frame{address | std::uint64_t{self->id} << 48};
}

void resolve_fresh(benchmark::State& state)
{
    for (auto _ : state) benchmark::DoNotOptimize(resolve(fresh_frame()));
}

void resolve_known(benchmark::State& state)
{
    const Frame frame = fresh_frame();
    for (auto _ : state) benchmark::DoNotOptimize(resolve(frame));
}

BENCHMARK(resolve_fresh)->Name("resolve_first_of_module")->Iterations(1);
BENCHMARK(resolve_fresh)->Name("resolve_further")->Iterations(1000);
BENCHMARK(resolve_known);

} // namespace

BENCHMARK_MAIN();
