// SPDX-License-Identifier: BSL-1.0
// Accounting of real blocks against a model that counts by itself, by malloc_usable_size.
#include "expect.hpp"

#include <heapmark/report.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <malloc.h>
#include <map>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using heapmark::Account;
using heapmark::Accounting;
using heapmark::accounting;

namespace {

struct Figures {
    std::uint64_t total = 0;
    std::uint64_t slack = 0;
    std::int64_t net = 0;
    std::uint64_t allocations = 0;
    std::uint64_t frees = 0;

    bool operator==(const Figures&) const = default;
    void born(std::size_t requested, std::size_t usable)
    {
        total += usable;
        slack += usable - requested;
        net += static_cast<std::int64_t>(usable);
        ++allocations;
    }
    void died(std::size_t usable)
    {
        net -= static_cast<std::int64_t>(usable);
        ++frees;
    }
    Figures& operator+=(const Figures& more)
    {
        total += more.total;
        slack += more.slack;
        net += more.net;
        allocations += more.allocations;
        frees += more.frees;
        return *this;
    }
};

std::ostream& operator<<(std::ostream& out, const Figures& f)
{
    return out << "total " << f.total << " slack " << f.slack << " net " << f.net << " " << f.allocations << "/"
               << f.frees;
}

Figures figures_of(const heapmark::AccountFigures& row)
{
    return {row.total_bytes, row.slack_bytes, row.net_bytes, row.allocations, row.frees};
}

/// One call instruction each.
template <int Number>
[[gnu::noinline]] void* site(std::size_t size)
{
    void* block = std::malloc(size);
    return opaque(block);
}
[[gnu::noinline]] void* resize_site(void* block, std::size_t size)
{
    block = std::realloc(block, size);
    return opaque(block);
}
constexpr std::array<void* (*)(std::size_t), 8> sites{site<0>, site<1>, site<2>, site<3>,
                                                      site<4>, site<5>, site<6>, site<7>};
constexpr std::size_t resized = sites.size(); // the number of resize_site

/// The number of the site that a row is of; -1 for others.
int number_of(const Account& row)
{
    const std::string name = heapmark::resolve(row.caller()).back().function;
    if (name.find("resize_site") != std::string::npos) return static_cast<int>(resized);
    const std::size_t at = name.find("site<");
    return at == std::string::npos ? -1 : name[at + 5] - '0';
}

std::map<int, Account> by_number(const Accounting& reading)
{
    std::map<int, Account> rows;
    for (const Account& row : reading.rows) {
        const int number = number_of(row);
        if (number < 0) continue;
        CHECK(rows.count(number) == 0);
        rows[number] = row;
    }
    return rows;
}

struct Held {
    void* block;
    std::size_t site;
    std::size_t usable;
};

/// Blocks that go from thread to thread.
class Exchange {
public:
    void swap(Held& mine)
    {
        const std::lock_guard lock(mutex_);
        std::swap(mine, held_[next_++ % held_.size()]);
    }
    std::array<Held, 64>& held() { return held_; }

private:
    std::mutex mutex_;
    std::array<Held, 64> held_{};
    std::size_t next_ = 0;
};

using Model = std::array<Figures, sites.size() + 1>;

void use_at_random(unsigned seed, int steps, Exchange& exchange, Model& model)
{
    std::mt19937 random(seed);
    std::array<Held, 100> mine{};
    const auto release = [&model](Held& held) {
        if (held.block == nullptr) return;
        model[held.site].died(held.usable);
        std::free(held.block);
        held = {};
    };
    for (int i = 0; i < steps; ++i) {
        Held& held = mine[random() % mine.size()];
        const std::size_t size = random() % 50 == 0 ? random() % 300'000 : random() % 700;
        switch (random() % 8) {
        case 0: exchange.swap(held); break;
        case 1: {
            if (held.block == nullptr) break;
            void* const block = resize_site(held.block, size + 1);
            REQUIRE(block != nullptr);
            model[held.site].died(held.usable);
            held = {block, resized, malloc_usable_size(block)};
            model[resized].born(size + 1, held.usable);
            break;
        }
        default:
            release(held);
            held.site = random() % sites.size();
            held.block = sites[held.site](size);
            held.usable = malloc_usable_size(held.block);
            model[held.site].born(size, held.usable);
        }
    }
    for (Held& held : mine) release(held);
}

/// What live blocks that were born since then and rows of the same caller say must agree.
void check_against_live_blocks(const Accounting& reading, heapmark::Generation since)
{
    std::map<std::uint64_t, std::pair<std::int64_t, std::uint64_t>> live;
    for (const heapmark::Block& block : heapmark::survivors(since, heapmark::Ignored::include)) {
        auto& [bytes, blocks] = live[block.stack.empty() ? 0 : block.stack[0].bits];
        bytes += static_cast<std::int64_t>(block.usable_size);
        ++blocks;
    }
    std::size_t agreed = 0;
    for (const Account& row : reading.rows) {
        const auto [bytes, blocks] = live[row.caller().bits];
        CHECK(row.net_bytes == bytes);
        CHECK(row.allocations - row.frees == blocks);
        agreed += blocks != 0 ? 1 : 0;
    }
    CHECK(agreed > 0);
}

std::vector<void*> before_start;
heapmark::Generation start;

} // namespace

TEST_CASE("nothing before the start, nor the frees of what was allocated before it")
{
    CHECK(accounting().key == heapmark::AccountingKey::none);
    CHECK(accounting().rows.empty());
    for (int i = 0; i < 100; ++i) before_start.push_back(site<0>(100));
    start = heapmark::start_accounting();
    CHECK(heapmark::start_accounting(heapmark::AccountingKey::stacks) == heapmark::current_generation());
    for (void* block : before_start) std::free(block);
    before_start.clear();
    const Accounting reading = accounting();
    CHECK(reading.key == heapmark::AccountingKey::callers);
    CHECK(by_number(reading).empty());
    CHECK(reading.unknown_frees == 0);
}

TEST_CASE("many threads at random, with blocks that change hands: exact to the last block and byte")
{
    const Accounting before = accounting();
    for (const unsigned round : {1U, 2U, 3U}) {
        CAPTURE(round);
        const Accounting at_start = accounting();
        constexpr std::size_t thread_count = 6;
        static Exchange exchange;
        std::array<Model, thread_count> models{};
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < thread_count; ++i)
            threads.emplace_back([&models, i, round] {
                use_at_random(round * 100 + static_cast<unsigned>(i), 30'000, exchange, models[i]);
            });
        for (std::thread& thread : threads) thread.join();

        Model sum{};
        for (const Model& model : models)
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += model[i];
        std::map<int, Account> rows = by_number(accounting(at_start));
        for (std::size_t i = 0; i < sum.size(); ++i) {
            CAPTURE(i);
            CHECK(figures_of(rows[static_cast<int>(i)]) == sum[i]);
        }
        check_against_live_blocks(accounting(), start);
    }
    const Accounting after = accounting();
    CHECK(after.unrecorded_allocations == 0);
    CHECK(after.unrecorded_callers == 0);
    CHECK(after.unknown_frees == 0);
    Figures header{after.total_bytes, after.slack_bytes, after.net_bytes, after.allocations, after.frees};
    Figures rows;
    for (const Account& row : after.rows) rows += figures_of(row);
    CHECK(header == rows);
    CHECK(after.callers == after.rows.size());
    for (std::size_t i = 1; i < after.rows.size(); ++i) CHECK(after.rows[i - 1].net_bytes >= after.rows[i].net_bytes);
}

TEST_CASE("the peak in one thread is exact, and that of many within its bound")
{
    const auto fill = [](std::size_t count) {
        std::vector<void*> blocks;
        for (std::size_t i = 0; i < count; ++i) blocks.push_back(site<6>(10'000));
        for (void* block : blocks) std::free(block);
        return count * malloc_usable_size(opaque(blocks.front() = site<7>(10'000))) + (std::free(blocks.front()), 0U);
    };
    // site<6> was used by several threads above, with far less.
    const std::uint64_t wanted = fill(2'000);
    const auto peak = static_cast<std::int64_t>(by_number(accounting())[6].peak_bytes);
    CHECK(std::abs(peak - static_cast<std::int64_t>(wanted)) < 8 * std::max<std::int64_t>(16'384, peak / 64));

    struct Own {
        [[gnu::noinline]] static void* site(std::size_t size) { return opaque(std::malloc(size)); }
    };
    std::vector<void*> blocks;
    std::size_t most = 0;
    std::size_t net = 0;
    std::mt19937 random(7);
    for (int i = 0; i < 20'000; ++i) {
        if (blocks.empty() || random() % 100 < (i < 10'000 ? 55 : 45)) {
            blocks.push_back(Own::site(random() % 1'000));
            net += malloc_usable_size(blocks.back());
            most = std::max(most, net);
        } else {
            std::swap(blocks[random() % blocks.size()], blocks.back());
            net -= malloc_usable_size(blocks.back());
            std::free(blocks.back());
            blocks.pop_back();
        }
    }
    for (void* block : blocks) std::free(block);
    bool found = false;
    for (const Account& row : accounting().rows)
        if (heapmark::resolve(row.caller()).back().function.find("Own::site") != std::string::npos) {
            found = true;
            CHECK(row.peak_bytes == most);
            CHECK(row.net_bytes == 0);
        }
    CHECK(found);
}

TEST_CASE("the difference of two readings is what happened in between")
{
    void* old = site<1>(50);
    const Accounting before = accounting();
    void* fresh = site<2>(500);
    std::free(old);
    const Accounting between = accounting(before);
    std::map<int, Account> rows = by_number(between);
    CHECK(rows.size() == 2);
    CHECK(rows[1].net_bytes == -static_cast<std::int64_t>(rows[1].slack_bytes) - 56);
    CHECK(rows[1].allocations == 0);
    CHECK(rows[1].frees == 1);
    CHECK(rows[2].net_bytes == static_cast<std::int64_t>(malloc_usable_size(fresh)));
    CHECK(rows[2].slack_bytes == malloc_usable_size(fresh) - 500);
    CHECK(between.rows.front().net_bytes == rows[2].net_bytes);
    std::free(fresh);
    CHECK(accounting(accounting()).rows.empty());
}

TEST_CASE("readings, their differences and texts leave nothing, and are in no account")
{
    const Accounting before = accounting();
    const heapmark::Generation since = heapmark::mark();
    {
        const Accounting now = accounting(before);
        std::ostringstream text;
        text << now;
        heapmark::write_table(text, heapmark::accounting_by_module(accounting()));
    }
    CHECK(heapmark::counts(since).blocks == 0);
    for (const Account& row : accounting(before).rows) CHECK(row.net_bytes == 0);
}

TEST_CASE("a forked child goes on from its parent's figures, also of threads that it does not have")
{
    const Accounting at_start = accounting();
    std::atomic<bool> stop{false};
    std::vector<std::thread> busy;
    for (int i = 0; i < 2; ++i)
        busy.emplace_back([&stop] {
            while (!stop) std::free(site<3>(300));
        });
    for (int i = 0; i < 10; ++i) {
        void* inherited = site<4>(1000);
        const Accounting before = accounting();
        const pid_t child = fork();
        if (child == 0) {
            std::free(inherited);
            for (int n = 0; n < 1'000; ++n) std::free(site<5>(64));
            const std::map<int, Account> rows = by_number(accounting(before));
            const bool right = rows.at(4).frees == 1 && rows.at(4).allocations == 0 &&
                               rows.at(5).allocations == 1'000 && rows.at(5).net_bytes == 0 &&
                               accounting().rows.size() >= before.rows.size();
            _exit(right ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(status == 0);
        CHECK(by_number(accounting(before)).count(5) == 0);
        std::free(inherited);
    }
    stop = true;
    for (std::thread& thread : busy) thread.join();
    CHECK(by_number(accounting(at_start))[3].net_bytes == 0);
}

TEST_CASE("ignored blocks are in it, heapmark's own are not, wrong frees are counted")
{
    const Accounting before = accounting();
    {
        const heapmark::ignore ignored;
        void* block = site<1>(10);
        CHECK(by_number(accounting(before))[1].net_bytes == 24);
        std::free(block);
    }
    alignas(16) static char not_a_block[64];
    std::free(opaque(&not_a_block[16]));
    CHECK(accounting(before).unknown_frees == 1);
    CHECK(by_number(accounting(before))[1].net_bytes == 0);
}

TEST_CASE("by module: the rows of one module added up")
{
    void* block = site<7>(77);
    const Accounting reading = accounting();
    const std::vector<heapmark::ModuleAccount> modules = heapmark::accounting_by_module(reading);
    Figures rows;
    Figures sums;
    std::uint64_t callers = 0;
    for (const Account& row : reading.rows) rows += figures_of(row);
    bool own = false;
    for (const heapmark::ModuleAccount& module : modules) {
        sums += figures_of(module);
        callers += module.callers;
        if (module.module.find("accounting") != std::string_view::npos) own = true;
    }
    CHECK(own);
    CHECK(sums == rows);
    CHECK(callers == reading.rows.size());
    std::free(block);
}
