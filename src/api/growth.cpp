// SPDX-License-Identifier: BSL-1.0
// Readings of call sites over time, and which of them keep rising.
#include "platform/thread_state.hpp"
#include "report/words.hpp"

#include <heapmark/growth.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <ostream>
#include <sstream>
#include <thread>
#include <unordered_map>

namespace heapmark {
namespace {

constexpr std::size_t most_readings = 512;
constexpr std::size_t quarters = 4;
constexpr std::size_t least_readings = 2 * quarters;

using Series = std::vector<Counts>;

/// The least of each quarter of a series, by one of its figures; leading readings that do not fill a quarter left out.
std::array<std::uint64_t, quarters> least_of_quarters(const Series& series, std::uint64_t Counts::*figure)
{
    const std::size_t length = series.size() / quarters;
    const auto begin = series.end() - static_cast<std::ptrdiff_t>(length * quarters);
    std::array<std::uint64_t, quarters> least{};
    for (std::size_t quarter = 0; quarter < quarters; ++quarter) {
        const auto first = begin + static_cast<std::ptrdiff_t>(quarter * length);
        least[quarter] =
            (*std::min_element(first, first + static_cast<std::ptrdiff_t>(length),
                               [figure](const Counts& a, const Counts& b) { return a.*figure < b.*figure; })).*
            figure;
    }
    return least;
}

bool rises(const std::array<std::uint64_t, quarters>& least)
{
    return std::adjacent_find(least.begin(), least.end(), std::greater_equal<>()) == least.end();
}

double slope(const std::array<std::uint64_t, quarters>& least, std::size_t readings)
{
    const double steps = static_cast<double>(readings / quarters * (quarters - 1));
    return (static_cast<double>(least.back()) - static_cast<double>(least.front())) / steps;
}

/// Eight heights of a bar, in as many columns as there are readings, 40 at most.
std::string chart(const Series& series)
{
    static constexpr const char* bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    constexpr std::size_t columns = 40;
    const std::size_t width = std::min(columns, series.size());
    std::uint64_t most = 1;
    for (const Counts& reading : series) most = std::max(most, reading.blocks);
    std::string text;
    for (std::size_t column = 0; column < width; ++column)
        text += bars[series[column * series.size() / width].blocks * (std::size(bars) - 1) / most];
    return text;
}

/// "12 younger than 1 s, 3 than 1 min, 2 older".
std::string ages(const Snapshot& blocks)
{
    struct Class {
        const char* name;
        std::uint64_t below_ns;
    };
    static constexpr Class classes[] = {{"1 s", 1'000'000'000}, {"1 min", 60'000'000'000}, {"1 h", 3'600'000'000'000}};
    std::uint64_t counts[std::size(classes) + 1] = {};
    for (const Block& block : blocks) {
        std::size_t index = 0;
        while (index < std::size(classes) && block.age.nanoseconds >= classes[index].below_ns) ++index;
        ++counts[index];
    }
    std::string text;
    for (std::size_t index = 0; index < std::size(counts); ++index) {
        if (counts[index] == 0) continue;
        if (!text.empty()) text += ", ";
        text += report::grouped_digits(counts[index]);
        text +=
            index == std::size(classes) ? std::string(" older") : std::string(" younger than ") + classes[index].name;
    }
    return text;
}

} // namespace

struct GrowthWatch::State {
    Generation first = mark("growth watch");
    mutable std::mutex mutex;
    std::size_t readings = 0;
    std::unordered_map<const Frame*, Series> series; ///< by stack, each of `readings` figures
    std::unordered_map<const Frame*, Stack> stacks;
    std::thread reader;
    std::condition_variable stopping;
    bool stopped = false;

    void read()
    {
        const Snapshot now = survivors(first);
        const std::lock_guard lock(mutex);
        for (auto& [stack, figures] : series) figures.emplace_back();
        ++readings;
        for (const Block& block : now) {
            Series& figures = series[block.stack.begin()];
            if (figures.empty()) {
                figures.resize(readings); // it had none before
                stacks[block.stack.begin()] = block.stack;
            }
            figures.back().blocks += 1;
            figures.back().bytes += block.size;
        }
        if (readings > most_readings) drop_every_second();
    }

    void drop_every_second()
    {
        for (auto& [stack, figures] : series) {
            for (std::size_t i = 0; 2 * i + 1 < figures.size(); ++i) figures[i] = figures[2 * i + 1];
            figures.resize(figures.size() / 2);
        }
        readings /= 2;
    }
};

GrowthWatch::GrowthWatch()
{
    const platform::Guard guard;
    state_ = new State;
}

GrowthWatch::~GrowthWatch()
{
    const platform::Guard guard;
    if (state_->reader.joinable()) {
        {
            const std::lock_guard lock(state_->mutex);
            state_->stopped = true;
        }
        state_->stopping.notify_all();
        state_->reader.join();
    }
    delete state_;
}

void GrowthWatch::read()
{
    const platform::Guard guard;
    state_->read();
}

void GrowthWatch::read_every(std::uint64_t interval_ms)
{
    const platform::Guard guard;
    state_->reader = std::thread([state = state_, interval = std::chrono::milliseconds(interval_ms)] {
        const platform::Guard ours;
        std::unique_lock lock(state->mutex);
        while (!state->stopping.wait_for(lock, interval, [state] { return state->stopped; })) {
            lock.unlock();
            state->read();
            lock.lock();
        }
    });
}

std::size_t GrowthWatch::size() const
{
    const std::lock_guard lock(state_->mutex);
    return state_->readings;
}

std::vector<Growth> GrowthWatch::growing() const
{
    const platform::Guard guard;
    std::map<std::string_view, Growth> by_site;
    std::unordered_map<const Frame*, std::string_view> site_of;
    {
        const std::lock_guard lock(state_->mutex);
        if (state_->readings < least_readings) return {};
        for (const auto& [frames, figures] : state_->series) {
            Block block;
            block.stack = state_->stacks.at(frames);
            const std::string_view site = Snapshot::of({block}).group_by(by_call_site).front().label();
            site_of[frames] = site;
            Growth& growth = by_site[site];
            growth.site = site;
            growth.readings.resize(state_->readings);
            for (std::size_t i = 0; i < figures.size(); ++i) {
                growth.readings[i].blocks += figures[i].blocks;
                growth.readings[i].bytes += figures[i].bytes;
            }
        }
    }
    const Snapshot now = survivors(state_->first);
    std::vector<Growth> all;
    for (auto& [site, growth] : by_site) {
        const auto blocks = least_of_quarters(growth.readings, &Counts::blocks);
        const auto bytes = least_of_quarters(growth.readings, &Counts::bytes);
        growth.in_blocks = rises(blocks);
        growth.in_bytes = rises(bytes);
        if (!growth.in_blocks && !growth.in_bytes) continue;
        growth.blocks_per_reading = slope(blocks, growth.readings.size());
        growth.bytes_per_reading = slope(bytes, growth.readings.size());
        growth.blocks = now.filter([&, wanted = site](const Block& block) {
            const auto found = site_of.find(block.stack.begin());
            return found != site_of.end() && found->second == wanted;
        });
        all.push_back(std::move(growth));
    }
    std::sort(all.begin(), all.end(),
              [](const Growth& a, const Growth& b) { return a.bytes_per_reading > b.bytes_per_reading; });
    return all;
}

std::ostream& operator<<(std::ostream& out, const GrowthWatch& watch)
{
    const platform::Guard guard;
    const std::vector<Growth> all = watch.growing();
    std::ostringstream text;
    text.precision(3);
    if (watch.size() < least_readings)
        text << "too few readings to tell what grows: " << watch.size() << " of at least " << least_readings << "\n";
    else if (all.empty())
        text << "nothing keeps growing in " << watch.size() << " readings\n";
    for (const Growth& growth : all) {
        text << growth.site << " keeps growing: " << report::count_of(growth.blocks.size(), "block") << ", "
             << report::bytes_in_words(growth.blocks.bytes()) << "\n  blocks  " << chart(growth.readings) << "  "
             << growth.readings.front().blocks << " to " << growth.readings.back().blocks << " in "
             << growth.readings.size() << " readings, " << growth.blocks_per_reading << " blocks and "
             << growth.bytes_per_reading << " bytes a reading\n  ages    " << ages(growth.blocks) << "\n";
    }
    const std::string whole = text.str();
    return out.write(whole.data(), static_cast<std::streamsize>(whole.size()));
}

} // namespace heapmark
