// SPDX-License-Identifier: BSL-1.0
// bench_<variant> WORKLOAD [--threads N] [--seconds S] [--size N] [--scattered]: runs one workload, prints its figures.
#include "workload.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace bench {
namespace {

double status_bytes(const char* key)
{
    double kibibytes = 0;
    std::FILE* status = std::fopen("/proc/self/status", "r");
    if (status == nullptr) return 0;
    char line[256];
    while (std::fgets(line, sizeof line, status) != nullptr)
        if (std::strncmp(line, key, std::strlen(key)) == 0) kibibytes = std::atof(line + std::strlen(key));
    std::fclose(status);
    return kibibytes * 1024;
}

struct Workload {
    const char* name;
    void (*run)(const Settings&);
};

const Workload workloads[] = {
    {"pair", run_pair},       {"pair-deep", run_pair_deep}, {"pair-walk", run_pair_walk}, {"handoff", run_handoff},
    {"million", run_million}, {"report", run_report},       {"lost", run_lost},           {"mapping", run_mapping},
#ifdef BENCH_WITH_JSON
    {"json", run_json},
#endif
#ifdef BENCH_WITH_SQLITE
    {"sqlite", run_sqlite},
#endif
};

} // namespace

void print_result(const char* name, double value) { std::printf("RESULT %s %.17g\n", name, value); }

double resident_bytes() { return status_bytes("VmRSS:"); }
double peak_resident_bytes() { return status_bytes("VmHWM:"); }

void run_workers(const Settings& settings, const std::function<Worker*(unsigned index)>& make)
{
    std::atomic<unsigned> ready{0};
    std::vector<double> rates(settings.threads);
    const auto run = [&](unsigned index) {
        const std::unique_ptr<Worker> worker(make(index));
        auto start = Clock::now();
        std::uint64_t operations = worker->work();
        double elapsed = seconds_since(start);
        const bool long_enough = elapsed >= settings.seconds; // under a very slow tool, one round has to do
        ++ready;
        while (ready.load() < settings.threads) std::this_thread::yield();
        if (!long_enough) {
            start = Clock::now();
            operations = 0;
            do {
                operations += worker->work();
                elapsed = seconds_since(start);
            } while (elapsed < settings.seconds);
        }
        rates[index] = static_cast<double>(operations) / elapsed;
    };
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < settings.threads; ++i) threads.emplace_back(run, i);
    run(0);
    for (std::thread& thread : threads) thread.join();
    double rate = 0;
    for (const double each : rates) rate += each;
    print_result("ns_per_operation", 1e9 / rate);
}

} // namespace bench

int main(int argc, char** argv)
{
    bench::Settings settings;
    for (int i = 2; i < argc; ++i) {
        const char* value = i + 1 < argc ? argv[i + 1] : "";
        if (std::strcmp(argv[i], "--scattered") == 0) {
            settings.scattered = true;
            continue;
        }
        if (std::strcmp(argv[i], "--threads") == 0)
            settings.threads = static_cast<unsigned>(std::atoi(value));
        else if (std::strcmp(argv[i], "--seconds") == 0)
            settings.seconds = std::atof(value);
        else if (std::strcmp(argv[i], "--size") == 0)
            settings.size = std::strtoull(value, nullptr, 10);
        else
            return std::fprintf(stderr, "unknown option %s\n", argv[i]), 2;
        ++i;
    }
    for (const bench::Workload& workload : bench::workloads)
        if (argc > 1 && std::strcmp(argv[1], workload.name) == 0) {
            workload.run(settings);
            bench::print_result("peak_bytes", bench::peak_resident_bytes());
            return 0;
        }
    std::fprintf(stderr, "%s: not built in; there are:", argc > 1 ? argv[1] : "no workload named");
    for (const bench::Workload& workload : bench::workloads) std::fprintf(stderr, " %s", workload.name);
    std::fprintf(stderr, "\n");
    return 3;
}
