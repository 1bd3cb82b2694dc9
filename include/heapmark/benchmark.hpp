// SPDX-License-Identifier: BSL-1.0
// Google Benchmark: its columns of allocations. 1.7 and newer; tried with 1.7.1 and 1.9.5.
// Link heapmark::benchmark_main instead of benchmark::benchmark_main and no benchmark needs to change. With a main of
// your own, link heapmark::benchmark and say, before RunSpecifiedBenchmarks:
//
//     heapmark::benchmark::install();
//
// --benchmark_format=json and --benchmark_out=FILE then have, of each benchmark, allocs_per_iter, max_bytes_used,
// total_allocated_bytes and net_heap_growth. Benchmark takes them in a run of its own of up to 16 iterations, so the
// times are not those of it; but they are of a program with heapmark in it.
#ifndef HEAPMARK_BENCHMARK_HPP
#define HEAPMARK_BENCHMARK_HPP

#include <heapmark/adapter.hpp>
#include <heapmark/report.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>

namespace heapmark::benchmark {

// Stop has had two forms, of which newer versions have one.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsuggest-override"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Winconsistent-missing-override"
#pragma GCC diagnostic ignored "-Wsuggest-destructor-override"
#endif

/// Counts what a benchmark allocates, in all threads, in blocks and in requested bytes. What Benchmark itself allocates
/// for the run is taken off, as far as its stacks can still be told when the run ends.
class MemoryManager : public ::benchmark::MemoryManager {
public:
    virtual void Start()
    {
        first_ = mark("benchmark");
        bytes_before_ = counts(Generation{}).bytes;
    }

    virtual void Stop(Result& result)
    {
        const framework_memory ours;
        const Generation last{static_cast<std::uint64_t>(mark()) - 1};
        const Allocations used = allocations(first_, last);
        const Snapshot frameworks = allocated(first_, last).filter(is_of_framework);
        const std::uint64_t peak = used.peak_bytes - std::min(used.peak_bytes, frameworks.bytes());
        result.num_allocs = static_cast<std::int64_t>(used.blocks - frameworks.size());
        result.max_bytes_used = static_cast<std::int64_t>(peak);
        result.total_allocated_bytes = static_cast<std::int64_t>(used.bytes - frameworks.bytes());
        result.net_heap_growth = static_cast<std::int64_t>(counts(Generation{}).bytes - bytes_before_);
    }
    virtual void Stop(Result* result) { Stop(*result); }

private:
    static bool is_of_framework(const Block& block)
    {
        const Frame site = call_site(block.stack);
        const std::string_view module = module_path(site);
        return module.find("/libbenchmark") != std::string_view::npos ||
               resolve(site).front().function.rfind("benchmark::", 0) == 0;
    }

    Generation first_{};
    std::uint64_t bytes_before_ = 0;
};

#pragma GCC diagnostic pop

/// Has Benchmark fill its columns. Says so on standard error where nothing can be counted, and installs nothing.
inline void install()
{
    const framework_memory ours;
    if (*TestSession::problem() != '\0') {
        std::fprintf(stderr, "heapmark: no allocation is recorded: %s\n", TestSession::problem());
        return;
    }
    static MemoryManager manager;
    ::benchmark::RegisterMemoryManager(&manager);
}

} // namespace heapmark::benchmark

#endif
