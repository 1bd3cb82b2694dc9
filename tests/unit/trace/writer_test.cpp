// SPDX-License-Identifier: BSL-1.0
// The writer on invented addresses, read back: nothing is missing, nothing is out of order, stacks are whole.
#include "match/match.hpp"
#include "record/depot.hpp"
#include "record/threads.hpp"
#include "trace/format.hpp"
#include "trace/writer.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <sys/stat.h>
#include <sys/time.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace heapmark;

namespace {

class Silent final : public match::Listener {
public:
    Silent() : Listener(match::Verbosity::warnings) {}
    void warn(match::Place, std::string_view text) override { warnings.emplace_back(text); }
    void log(match::Place, std::string_view) override {}

    std::vector<std::string> warnings;
};

std::string path() { return "/tmp/heapmark_writer_test." + std::to_string(getpid()); }

const void* address(std::uint64_t number)
{
    return reinterpret_cast<const void*>(0x7000'0000'0000 + number * 16); // NOLINT: never read
}

/// Of 1 to 32 frames without a module.
std::uint32_t invented_site(std::size_t depth)
{
    std::vector<std::uint64_t> frames;
    for (std::size_t i = 0; i < depth; ++i) frames.push_back(depth * 1000 + i);
    const record::SiteKey key{Api::malloc, 0, 0};
    return record::intern_site(record::site_hash(key, frames), key, frames);
}

platform::ThreadState invented_thread()
{
    platform::ThreadState state{};
    state.thread = record::add_thread(0, 0);
    state.phase = platform::ThreadState::Phase::in_use;
    return state;
}

match::Matched read_back(std::vector<std::string>& warnings)
{
    Silent listener;
    match::Match match(listener);
    match.read(path());
    unlink(path().c_str());
    warnings = listener.warnings;
    return match.finish();
}

} // namespace

TEST_CASE("a record keeps all that it is given")
{
    platform::ThreadState thread = invented_thread();
    REQUIRE(trace::start(path().c_str()) == 0);
    for (std::size_t depth = 1; depth <= 32; ++depth)
        trace::write_allocation(thread, address(depth), depth << 40, invented_site(depth), false);
    trace::write_allocation(thread, address(0), 0, record::no_site, false);
    trace::stop();
    trace::end_thread();
    CHECK(trace::dropped_count() == 0);

    std::vector<std::string> warnings;
    const match::Matched matched = read_back(warnings);
    CHECK(warnings.empty());
    REQUIRE(matched.processes.size() == 1);
    const std::vector<match::Leak>& leaks = matched.processes[0].blocks;
    REQUIRE(leaks.size() == 33);
    for (std::size_t depth = 1; depth <= 32; ++depth) {
        const match::Leak& leak = leaks[depth - 1];
        CHECK(leak.address == reinterpret_cast<std::uintptr_t>(address(depth)));
        CHECK(leak.bytes == depth << 40);
        const Stack stack = matched.stacks.at(0)->stack(leak.site);
        REQUIRE(stack.size() == depth);
        for (std::size_t i = 0; i < depth; ++i) CHECK(stack[i].bits == depth * 1000 + i);
        CHECK(leak.text.find("= malloc(") != std::string::npos);
    }
    CHECK(leaks[32].bytes == 0);
    CHECK(matched.stacks.at(0)->stack(leaks[32].site).empty());
}

TEST_CASE("many threads: nothing is missing, and an address wanders between them in order")
{
    constexpr std::uint64_t rounds = 20'000;
    constexpr unsigned thread_count = 6;
    std::atomic<std::uint64_t> turn{0}; // one address goes round
    REQUIRE(trace::start(path().c_str()) == 0);
    std::vector<std::thread> threads;
    for (unsigned number = 0; number < thread_count; ++number)
        threads.emplace_back([&turn, number] {
            platform::ThreadState thread = invented_thread();
            const std::uint32_t site = invented_site(number + 1);
            for (std::uint64_t i = 0; i < rounds; ++i) {
                const std::uint64_t own = 1000 + number * rounds + i;
                trace::write_allocation(thread, address(own), 8, site, false);
                if (turn.load(std::memory_order_acquire) % thread_count == number) {
                    trace::write_allocation(thread, address(0), 8, site, false);
                    trace::write_release(thread, address(0), site, true);
                    turn.fetch_add(1, std::memory_order_release);
                }
                trace::write_release(thread, address(own), site, i % 2 == 0);
            }
            trace::end_thread();
        });
    for (std::thread& thread : threads) thread.join();
    trace::stop();
    CHECK(trace::dropped_count() == 0);
    struct stat status {};
    REQUIRE(stat(path().c_str(), &status) == 0);

    std::vector<std::string> warnings;
    const match::Matched matched = read_back(warnings);
    CHECK(warnings.empty());
    CHECK(matched.leaked_blocks() == 0);
    const std::uint64_t records = rounds * thread_count + turn.load();
    CHECK(matched.processes[0].totals.allocations == records);
    CHECK(matched.processes[0].totals.releases == records);
    // Half-filled chunks go from thread to thread.
    CHECK(static_cast<std::uint64_t>(status.st_size) <=
          2 * records * sizeof(trace::Record) + (thread_count + 2) * trace::chunk_bytes);
}

namespace {

std::atomic<std::uint64_t> interrupted{0};

void write_in_handler(int)
{
    static platform::ThreadState& thread = platform::thread_state;
    const std::uint64_t number = 1'000'000 + interrupted.fetch_add(1);
    trace::write_allocation(thread, address(number), 8, record::no_site, false);
    trace::write_release(thread, address(number), record::no_site, true);
}

} // namespace

TEST_CASE("signal handlers that come while a record is written lose none, theirs or the other")
{
    platform::ThreadState& thread = platform::thread_state;
    thread = invented_thread();
    struct sigaction action {};
    action.sa_handler = write_in_handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &action, nullptr);
    REQUIRE(trace::start(path().c_str()) == 0);
    const itimerval often{{0, 100}, {0, 100}};
    setitimer(ITIMER_PROF, &often, nullptr);
    std::uint64_t rounds = 0;
    const std::uint32_t site = invented_site(5);
    for (; (interrupted.load() < 50 || rounds < 20'000) && rounds < 20'000'000; ++rounds) {
        trace::write_allocation(thread, address(rounds % 1000), 8, site, false);
        trace::write_release(thread, address(rounds % 1000), site, true);
    }
    const itimerval never{};
    setitimer(ITIMER_PROF, &never, nullptr);
    trace::stop();
    trace::end_thread();
    CHECK(trace::dropped_count() == 0);
    CHECK(interrupted.load() >= 50);

    std::vector<std::string> warnings;
    const match::Matched matched = read_back(warnings);
    CHECK(warnings.empty());
    CHECK(matched.leaked_blocks() == 0);
    CHECK(matched.processes[0].totals.allocations == rounds + interrupted.load());
    CHECK(matched.processes[0].totals.releases == rounds + interrupted.load());
}

TEST_CASE("a trace with wrong bytes in it is read, or refused, and does no harm")
{
    platform::ThreadState thread = invented_thread();
    REQUIRE(trace::start(path().c_str()) == 0);
    for (std::uint64_t i = 0; i < 500; ++i) {
        trace::write_allocation(thread, address(i), i, invented_site(i % 32 + 1), false);
        if (i % 3 == 0) trace::write_resize(thread, address(i), record::no_site);
        if (i % 6 == 0) trace::write_allocation(thread, address(i + 1000), i, invented_site(3), true);
        if (i % 5 == 0) trace::write_release(thread, address(i), record::no_site, i % 2 == 0);
    }
    trace::stop();
    trace::end_thread();
    std::ifstream file(path(), std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    REQUIRE(whole.size() > trace::header_bytes);

    std::mt19937 random(23);
    int refused = 0;
    for (int round = 0; round < 300; ++round) {
        std::string damaged = whole;
        for (auto changes = random() % 200; changes > 0; --changes) // mostly where there is something
            damaged[random() % (changes % 10 == 0 ? damaged.size() : 30'000)] = static_cast<char>(random());
        if (round % 4 == 0) damaged.resize(random() % damaged.size());
        std::ofstream(path(), std::ios::binary) << damaged;
        Silent listener;
        match::Match match(listener);
        try {
            match.read(path());
        } catch (const match::Unusable&) {
            ++refused;
        }
        const match::Matched matched = match.finish();
        for (const match::Leaks& leaks : matched.processes)
            for (const match::Leak& leak : leaks.blocks)
                if (const auto stacks = matched.stacks.find(0); stacks != matched.stacks.end())
                    for (const Frame frame : stacks->second->stack(leak.site)) stacks->second->of_frame(frame);
    }
    CHECK(refused > 0);
    CHECK(refused < 300);
    unlink(path().c_str());
}
