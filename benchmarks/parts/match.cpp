// SPDX-License-Identifier: BSL-1.0
// Records a second that `heapmark match` reads, from a file in memory.
#include "match/match.hpp"

#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace {

using namespace heapmark;

class Silent final : public match::Listener {
public:
    Silent() : Listener(match::Verbosity::warnings) {}
    void warn(match::Place, std::string_view) override { ++warnings; }
    void log(match::Place, std::string_view) override {}

    int warnings = 0;
};

constexpr std::size_t record_count = 4'000'000;

/// Of `live` blocks one is freed and one allocated, again and again.
std::string kdump_text(std::size_t live)
{
    std::mt19937 random(1);
    std::string text = " 61039 probe    USER  malloc_init()\n";
    char line[128];
    const auto address = [](std::size_t block) { return 0x800a00000UL + block * 64; };
    for (std::size_t i = 0; i < live; ++i)
        text.append(line, static_cast<std::size_t>(
                              std::snprintf(line, sizeof line, " 61039 probe    USER  0x%lx = malloc(%u)\n", address(i),
                                            static_cast<unsigned>(random() % 1000 + 1))));
    for (std::size_t i = live; i < record_count; i += 2) {
        const std::size_t block = random() % live;
        text.append(line, static_cast<std::size_t>(std::snprintf(
                              line, sizeof line,
                              " 61039 probe    USER  free(0x%lx)\n 61039 probe    USER  0x%lx = malloc(%u)\n",
                              address(block), address(block), static_cast<unsigned>(random() % 1000 + 1))));
    }
    return text;
}

void match_kdump(benchmark::State& state)
{
    const auto live = static_cast<std::size_t>(state.range(0));
    const std::string text = kdump_text(live);
    const int file = memfd_create("kdump", 0);
    if (file < 0 || write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return state.SkipWithError("no file in memory");
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    for (auto _ : state) {
        Silent listener;
        match::Match match(listener);
        match.read(path);
        if (match.finish().leaked_blocks() != live || listener.warnings != 0) state.SkipWithError("wrong answer");
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(record_count) * state.iterations());
    state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
    close(file);
}

BENCHMARK(match_kdump)->Arg(1000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

} // namespace
