// SPDX-License-Identifier: BSL-1.0
// Records a second that a thread writes into a trace, and that `heapmark match` reads from it. On invented addresses.
#include "match/match.hpp"
#include "record/depot.hpp"
#include "record/threads.hpp"
#include "trace/writer.hpp"

#include <benchmark/benchmark.h>

#include <string>
#include <unistd.h>

namespace {

using namespace heapmark;

constexpr std::uint64_t live = 1000;

std::string path() { return "/tmp/heapmark_bench." + std::to_string(getpid()); }

/// An allocation and a release, which are two records.
void write_pair(platform::ThreadState& thread, std::uint64_t index)
{
    const void* const block = // NOLINTNEXTLINE: never read
        reinterpret_cast<const void*>(std::uint64_t{thread.thread} << 32 | index % live * 64);
    trace::write_release(thread, block, 2, true);
    trace::write_allocation(thread, block, 100, 2, false);
}

void trace_write(benchmark::State& state)
{
    if (state.thread_index() == 0 && trace::start(path().c_str()) != 0) state.SkipWithError("no trace");
    platform::ThreadState thread{};
    thread.thread = record::add_thread(0, 0);
    thread.phase = platform::ThreadState::Phase::in_use;
    std::uint64_t index = 0;
    for (auto _ : state) write_pair(thread, index++);
    trace::end_thread();
    state.SetItemsProcessed(2 * state.iterations());
    if (state.thread_index() != 0) return;
    if (trace::dropped_count() != 0) state.SkipWithError("records were dropped");
    trace::stop();
    unlink(path().c_str());
}

class Silent final : public match::Listener {
public:
    Silent() : Listener(match::Verbosity::warnings) {}
    void warn(match::Place, std::string_view) override {}
    void log(match::Place, std::string_view) override {}
};

void match_trace(benchmark::State& state)
{
    constexpr std::uint64_t pairs = 2'000'000;
    platform::ThreadState thread{};
    thread.thread = record::add_thread(0, 0);
    if (trace::start(path().c_str()) != 0) return state.SkipWithError("no trace");
    for (std::uint64_t index = 0; index < pairs; ++index) write_pair(thread, index);
    trace::stop();
    trace::end_thread();
    for (auto _ : state) {
        Silent listener;
        match::Match match(listener);
        match.read(path());
        if (match.finish().leaked_blocks() != live) state.SkipWithError("wrong answer");
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(2 * pairs) * state.iterations());
    unlink(path().c_str());
}

BENCHMARK(trace_write)->Iterations(2'000'000)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK(match_trace)->Unit(benchmark::kMillisecond);

} // namespace
