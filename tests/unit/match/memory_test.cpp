// SPDX-License-Identifier: BSL-1.0
// What is kept of a trace is bound by what is alive.
#include "match/block_table.hpp"
#include "match/kept_texts.hpp"
#include "match/text_pool.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace heapmark::match;
using State = Entry::State;

TEST_CASE("the table agrees with a map while nothing is forgotten")
{
    std::mt19937_64 random(3);
    BlockTable table;
    std::map<std::uint64_t, std::uint64_t> model;
    for (std::uint64_t step = 1; step < 200'000; ++step) {
        const std::uint64_t address = random() % 50'000 * 16;
        Entry& entry = table.add(address);
        entry.state = step % 2 == 0 ? State::live : State::released;
        entry.bytes = step;
        model[address] = step;
    }
    CHECK_FALSE(table.has_forgotten());
    for (const auto& [address, step] : model) {
        REQUIRE(table.find(address) != nullptr);
        REQUIRE(table.find(address)->bytes == step);
        REQUIRE(table.find(address + 8) == nullptr);
    }
}

TEST_CASE("what is alive is never forgotten, and what was released last is remembered")
{
    constexpr std::size_t allowance = 1000;
    constexpr std::uint64_t kept_alive = 300;
    constexpr std::uint64_t count = 2'000'000;
    BlockTable table(allowance);
    for (std::uint64_t i = 0; i < count; ++i) { // each address once
        Entry& entry = table.add(i * 16 + 16);
        entry.place = Place::of(0, i);
        entry.state = i < kept_alive ? State::live : State::released;
    }
    CHECK(table.has_forgotten());
    CHECK(table.capacity_for_test() <= 8 * allowance);
    for (std::uint64_t i = 0; i < kept_alive; ++i) REQUIRE(table.find(i * 16 + 16) != nullptr);
    for (std::uint64_t i = count - allowance / 2; i < count; ++i) REQUIRE(table.find(i * 16 + 16) != nullptr);
    CHECK(table.find(kept_alive * 16 + 16) == nullptr);
}

TEST_CASE("texts of any length come back, and their room is used again")
{
    TextPool pool;
    std::mt19937 random(5);
    std::map<TextPool::Id, std::string> kept;
    TextPool::Id largest = 0;
    std::string read = "what was there before";
    for (int step = 0; step < 100'000; ++step) {
        if (kept.size() < 50) {
            std::string text(random() % 300, static_cast<char>('a' + step % 26));
            const TextPool::Id id = pool.keep(text);
            REQUIRE(kept.emplace(id, text).second);
            largest = std::max(largest, id & 0x7fff'ffff); // the top bit tells how many pieces
        } else {
            const auto dropped = std::next(kept.begin(), static_cast<std::ptrdiff_t>(random() % kept.size()));
            pool.prefetch(dropped->first);
            pool.read(dropped->first, read);
            REQUIRE(read == dropped->second);
            pool.drop(dropped->first);
            kept.erase(dropped);
        }
    }
    CHECK(largest <= 51 * 6 + 16); // the last ones dropped rest for a while
}

TEST_CASE("kept texts stay where they are, also when their keeper is moved")
{
    heapmark::match::KeptTexts texts;
    std::mt19937 random(6);
    std::vector<std::pair<std::string_view, std::string>> kept;
    for (int i = 0; i < 20'000; ++i) {
        const std::string text(i % 1000 == 999 ? 100'000 : random() % 60, static_cast<char>('a' + i % 26));
        kept.emplace_back(texts.keep(text), text);
    }
    heapmark::match::KeptTexts moved(std::move(texts));
    heapmark::match::KeptTexts last;
    last = std::move(moved);
    kept.emplace_back(last.keep("behind them"), "behind them");
    for (const auto& [view, text] : kept) REQUIRE(view == text);
}
