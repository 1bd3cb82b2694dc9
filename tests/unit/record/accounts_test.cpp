// SPDX-License-Identifier: BSL-1.0
// Accounts against a model that counts by itself: threads that are only states, blocks at invented addresses.
// Accounting cannot be stopped, so this is a program of its own; what was born before it comes first.
#include "invented.hpp"
#include "record/accounts.hpp"
#include "snapshot/accounts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace heapmark::record;
using heapmark::platform::limit_page_requests_for_test;
using heapmark::platform::ThreadState;
using invented::at;
using invented::fresh_leaf;

namespace {

constexpr Kind kind = Kind::malloc_family;

/// A site whose caller is `caller`; `way` tells stacks of one caller apart.
std::uint32_t site_of(std::uint64_t caller, std::uint64_t way = 0, std::uint32_t tag = 0)
{
    const std::array<std::uint64_t, 3> frames{caller, 0x9000 + way, 0x9999};
    const SiteKey key{heapmark::Api::malloc, 0, tag};
    return intern_site(site_hash(key, frames), key, frames);
}

struct Row {
    std::int64_t allocations = 0;
    std::int64_t frees = 0;
    std::int64_t total = 0;
    std::int64_t slack = 0;
    std::int64_t net = 0;
    std::int64_t peak = 0;
    std::set<const void*> users; ///< threads
};

/// Counts by itself.
struct Model {
    std::map<std::uint64_t, Row> rows;

    void born(std::uint64_t caller, Sizes sizes, const void* thread)
    {
        Row& row = rows[caller];
        row.users.insert(thread);
        ++row.allocations;
        row.total += static_cast<std::int64_t>(sizes.usable_bytes);
        row.slack += static_cast<std::int64_t>(sizes.usable_bytes - sizes.requested_bytes);
        row.net += static_cast<std::int64_t>(sizes.usable_bytes);
        row.peak = std::max(row.peak, row.net);
    }
    void died(std::uint64_t caller, Sizes sizes, const void* thread)
    {
        Row& row = rows[caller];
        row.users.insert(thread);
        ++row.frees;
        row.net -= static_cast<std::int64_t>(sizes.usable_bytes);
    }
};

std::map<std::uint64_t, heapmark::Account> reading()
{
    std::map<std::uint64_t, heapmark::Account> rows;
    for (const heapmark::Account& row : heapmark::snapshot::read_accounts().rows) {
        CHECK(rows.count(row.caller().bits) == 0);
        rows[row.caller().bits] = row;
    }
    return rows;
}

void check_against(const Model& model)
{
    auto rows = reading();
    for (const auto& [key, wanted] : model.rows) {
        const std::uint64_t caller = key; // clang++ 14 captures no structured bindings
        CAPTURE(caller);
        const heapmark::Account& row = rows[caller];
        CHECK(static_cast<std::int64_t>(row.allocations) == wanted.allocations);
        CHECK(static_cast<std::int64_t>(row.frees) == wanted.frees);
        CHECK(static_cast<std::int64_t>(row.total_bytes) == wanted.total);
        CHECK(static_cast<std::int64_t>(row.slack_bytes) == wanted.slack);
        CHECK(row.net_bytes == wanted.net);
        const auto peak = static_cast<std::int64_t>(row.peak_bytes);
        if (wanted.users.size() == 1)
            CHECK(peak == wanted.peak);
        else
            CHECK(std::abs(peak - wanted.peak) <
                  static_cast<std::int64_t>(wanted.users.size()) * std::max(least_reach_bytes, peak / reach_divisor));
    }
}

struct Live {
    std::uintptr_t address;
    std::uint64_t caller;
    Sizes sizes;
};

class Places {
public:
    std::uintptr_t take()
    {
        if (free_.empty()) {
            const std::uintptr_t leaf = fresh_leaf();
            for (std::uintptr_t i = 0; i < 1000; ++i) free_.push_back(leaf + i * 128);
        }
        const std::uintptr_t place = free_.back();
        free_.pop_back();
        return place;
    }
    void give_back(std::uintptr_t place) { free_.push_back(place); }

private:
    std::vector<std::uintptr_t> free_;
};

ThreadState early_thread = invented::thread();
std::uintptr_t early_block = 0;

} // namespace

TEST_CASE("nothing is accounted before the start, nor the deaths of what was born before")
{
    CHECK(heapmark::snapshot::read_accounts().key == heapmark::AccountingKey::none);
    early_block = fresh_leaf();
    birth(early_thread, at(early_block), {100, 104}, kind, site_of(0x100));
    birth(early_thread, at(early_block + 256), {100, 104}, kind, site_of(0x100));
    CHECK(heapmark::snapshot::read_accounts().rows.empty());

    CHECK_FALSE(start_accounting(AccountKey::none));
    CHECK(start_accounting(AccountKey::caller));
    CHECK_FALSE(start_accounting(AccountKey::stack));
    CHECK(accounting_key() == AccountKey::caller);
    CHECK(heapmark::snapshot::read_accounts().key == heapmark::AccountingKey::callers);
    // Until it begins another context the thread goes on as before, with births and deaths alike.
    birth(early_thread, at(early_block + 512), {100, 104}, kind, site_of(0x100));
    CHECK(heapmark::snapshot::read_accounts().rows.empty());
    heapmark::record::clock.advance();
    birth(early_thread, at(early_block + 1024), {7, 24}, kind, site_of(0x101));
    for (const std::uintptr_t offset : {0U, 256U, 512U})
        CHECK(death(early_thread, at(early_block + offset)).outcome == Death::Outcome::died);
    auto rows = reading();
    REQUIRE(rows.size() == 1);
    CHECK(rows[0x101].allocations == 1);
    CHECK(rows[0x101].frees == 0);
    CHECK(rows[0x101].net_bytes == 24);
    CHECK(rows[0x101].slack_bytes == 17);
    CHECK(plain_death(early_thread, at(early_block + 1024), kind, unstated));
    CHECK(reading()[0x101].net_bytes == 0);
}

TEST_CASE("a random mix of threads, sites, ways and sizes, to the last block and byte")
{
    for (const unsigned seed : {1U, 2U, 3U, 4U, 5U}) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        const auto below = [&random](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
        std::array<ThreadState, 4> threads{invented::thread(), invented::thread(), invented::thread(),
                                           invented::thread()};
        Model model;
        Places places;
        std::deque<Live> live;
        const std::uint64_t base = 0x10'000U * seed;
        // Callers 0 to 3 belong to one thread each, 4 to 7 to all.
        const auto thread_for = [&](std::uint64_t caller) -> ThreadState& {
            return threads[caller - base < 4 ? caller - base : below(threads.size())];
        };
        for (int step = 0; step < 40'000; ++step) {
            if (below(500) == 0) heapmark::record::clock.advance();
            const bool growing = step % 10'000 < 6'000;
            if (live.empty() || below(10) < (growing ? 6U : 4U)) {
                const std::uint64_t caller = base + below(8);
                const std::size_t requested = below(20) == 0 ? below(60'000) : below(600);
                const Sizes sizes{requested,
                                  std::max<std::size_t>(24, (requested + 7 + below(40)) / 8 * 8)}; // as allocators
                ThreadState& thread = thread_for(caller);
                const std::uintptr_t place = places.take();
                const std::uint32_t site = site_of(caller, below(3), static_cast<std::uint32_t>(below(2)));
                if (!plain_birth(thread, at(place), sizes, kind, site)) birth(thread, at(place), sizes, kind, site);
                model.born(caller, sizes, &thread);
                live.push_back({place, caller, sizes});
            } else {
                std::swap(live[below(live.size())], live.front());
                const Live block = live.front();
                live.pop_front();
                ThreadState& thread = thread_for(block.caller);
                if (below(10) == 0) {
                    Resize step_of_realloc(thread, at(block.address));
                    step_of_realloc.done();
                } else if (!plain_death(thread, at(block.address), kind, unstated))
                    CHECK(death(thread, at(block.address)).outcome == Death::Outcome::died);
                model.died(block.caller, block.sizes, &thread);
                places.give_back(block.address);
            }
            if (step % 8'000 == 7'999) check_against(model);
        }
        for (ThreadState& thread : threads) give_back_ledger(thread);
        for (const Live& block : live) { // those threads have ended
            static_cast<void>(death(early_thread, at(block.address)));
            model.died(block.caller, block.sizes, &early_thread);
        }
        for (auto& [caller, row] : model.rows) CHECK(row.net == 0);
        check_against(model);
    }
}

TEST_CASE("a peak is the most at one time, whichever way the caller was reached")
{
    auto thread = invented::thread();
    heapmark::record::clock.advance();
    const std::uintptr_t place = fresh_leaf();
    for (std::uint64_t way = 0; way < 10; ++way) {
        birth(thread, at(place), {1000, 1000}, kind, site_of(0x200, way));
        static_cast<void>(death(thread, at(place)));
    }
    birth(thread, at(place), {300, 304}, kind, site_of(0x200, 0));
    birth(thread, at(place + 512), {800, 808}, kind, site_of(0x200, 1));
    static_cast<void>(death(thread, at(place)));
    static_cast<void>(death(thread, at(place + 512)));
    CHECK(reading()[0x200].peak_bytes == 304 + 808);
    CHECK(reading()[0x200].allocations == 12);
    give_back_ledger(thread);
}

TEST_CASE("a block handed from thread to thread: the peak is that of all together")
{
    auto producer = invented::thread();
    auto consumer = invented::thread();
    heapmark::record::clock.advance();
    const std::uintptr_t place = fresh_leaf();
    for (int i = 0; i < 10'000; ++i) {
        birth(producer, at(place), {2000, 2008}, kind, site_of(0x300));
        CHECK(death(consumer, at(place)).outcome == Death::Outcome::died);
    }
    const heapmark::Account row = reading()[0x300];
    CHECK(row.net_bytes == 0);
    CHECK(row.frees == 10'000);
    CHECK(row.peak_bytes < 2008 + 2 * least_reach_bytes); // 20 MB were allocated
    give_back_ledger(producer);
    give_back_ledger(consumer);
}

TEST_CASE("a thread that ends hands its ledger to the next one, with its figures")
{
    const std::uintptr_t place = fresh_leaf();
    std::set<const Ledger*> used;
    for (int i = 0; i < 100; ++i) {
        auto thread = invented::thread();
        heapmark::record::clock.advance();
        birth(thread, at(place + 128 * static_cast<unsigned>(i)), {50, 56}, kind, site_of(0x400));
        REQUIRE(thread.ledger != nullptr);
        used.insert(thread.ledger);
        thread.phase = ThreadState::Phase::ending;
        give_back_ledger(thread);
        // The very last of a thread is booked too.
        birth(thread, at(place + 64'000), {1, 24}, kind, site_of(0x401));
        CHECK(plain_death(thread, at(place + 64'000), kind, unstated));
        CHECK(thread.ledger == nullptr);
    }
    CHECK(used.size() == 1);
    CHECK(reading()[0x400].allocations == 100);
    CHECK(reading()[0x400].peak_bytes == 5600);
    CHECK(reading()[0x401].allocations == 100);
    CHECK(reading()[0x401].net_bytes == 0);
    CHECK(reading()[0x401].peak_bytes == 24);
}

TEST_CASE("ignored, forgotten and unseen blocks are accounted as all others; heapmark's own are not")
{
    auto thread = invented::thread();
    heapmark::record::clock.advance();
    const std::uintptr_t place = fresh_leaf();
    thread.ignore_depth = 1;
    birth(thread, at(place), {10, 24}, kind, site_of(0x500));
    thread.ignore_depth = 0;
    birth(thread, at(place + 64), {20, 24}, kind, site_of(0x500));
    CHECK(make_ignored(at(place + 64)));
    CHECK(reading()[0x500].net_bytes == 48);
    birth(thread, at(place), {30, 40}, kind, site_of(0x501)); // the first one's death was not seen
    CHECK(reading()[0x500].net_bytes == 24);
    CHECK(reading()[0x500].frees == 1);
    CHECK(death(thread, at(place)).outcome == Death::Outcome::died);
    CHECK(plain_death(thread, at(place + 64), kind, unstated));
    CHECK(reading()[0x500].net_bytes == 0);
    CHECK(reading()[0x501].net_bytes == 0);

    const std::size_t rows = reading().size();
    birth(thread, at(place + 256), {10, 24}, Kind::internal, internal_site);
    CHECK(death(thread, at(place + 256)).outcome == Death::Outcome::internal);
    CHECK(reading().size() == rows);
    CHECK(heapmark::snapshot::read_accounts().unrecorded_callers == 0);
    birth(thread, at(place + 256), {10, 24}, kind, no_site); // the depot was full
    CHECK(heapmark::snapshot::read_accounts().unrecorded_callers == 1);
    CHECK(death(thread, at(place + 256)).outcome == Death::Outcome::died);
    CHECK(reading()[0].net_bytes == 0);
    give_back_ledger(thread);
}

TEST_CASE("whichever page request fails, the sums are right")
{
    for (std::int64_t pages = 0; pages < 24; ++pages) {
        CAPTURE(pages);
        const pid_t child = fork();
        if (child == 0) {
            auto thread = invented::thread();
            auto other = invented::thread();
            heapmark::record::clock.advance();
            const std::uintptr_t place = fresh_leaf();
            birth(thread, at(place), {1, 24}, Kind::internal, internal_site); // makes the leaf
            std::vector<std::uint32_t> sites;
            for (std::uint64_t i = 0; i < 3'000; ++i) sites.push_back(site_of(0x77'0000 + i));
            const heapmark::Accounting before = heapmark::snapshot::read_accounts();
            limit_page_requests_for_test(pages);
            for (std::size_t i = 0; i < sites.size(); ++i)
                birth(i % 2 == 0 ? thread : other, at(place + 64 + 128 * i), {50, 56}, kind, sites[i]);
            limit_page_requests_for_test(-1);
            const auto sum = [](const heapmark::Accounting& all) {
                heapmark::AccountFigures figures;
                for (const heapmark::Account& row : all.rows) figures += row;
                return figures;
            };
            const heapmark::Accounting full = heapmark::snapshot::read_accounts();
            const std::uint64_t born = sum(full).allocations - sum(before).allocations;
            if (born + full.unrecorded_allocations - before.unrecorded_allocations < sites.size()) _exit(2);
            if (sum(full).net_bytes - sum(before).net_bytes != 56 * static_cast<std::int64_t>(born)) _exit(3);
            for (std::size_t i = 0; i < sites.size(); ++i)
                if (death(i % 3 == 0 ? thread : other, at(place + 64 + 128 * i)).outcome != Death::Outcome::died)
                    _exit(4);
            const heapmark::Accounting after = heapmark::snapshot::read_accounts();
            if (sum(after).net_bytes != sum(before).net_bytes) _exit(5);
            if (sum(after).frees - sum(before).frees != born) _exit(6);
            _exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 0);
    }
}
