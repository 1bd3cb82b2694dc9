// SPDX-License-Identifier: BSL-1.0
// main() of heapmark::benchmark_main. Compiled in the user's build, with the Google Benchmark that is there.
#include <heapmark/benchmark.hpp>

int main(int argc, char** argv)
{
    ::benchmark::Initialize(&argc, argv);
    if (::benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    heapmark::benchmark::install();
    ::benchmark::RunSpecifiedBenchmarks();
    ::benchmark::Shutdown();
    return 0;
}
