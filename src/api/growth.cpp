// SPDX-License-Identifier: BSL-1.0
// Readings of call sites over time, and which of them keep rising.
#include "analyse/immortal_text.hpp"
#include "analyse/rising.hpp"
#include "api/printing.hpp"
#include "api/reading_calls.hpp"
#include "platform/monotonic_clock.hpp"
#include "platform/thread_state.hpp"
#include "report/growth_text.hpp"
#include "symbolise/symbolise.hpp"

#include <heapmark/growth.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <unordered_map>

namespace heapmark {
namespace {

constexpr std::size_t most_readings = 512;

using Series = std::vector<Counts>;

/// Of all watches: a child that is forked in the middle of a reading finds them whole.
struct Watches {};
using Lock = analyse::ColdLock<Watches>;

constexpr std::array<std::uint64_t, 7> age_classes_ns{1'000'000'000,   10'000'000'000,    60'000'000'000,
                                                      600'000'000'000, 3'600'000'000'000, 86'400'000'000'000,
                                                      AgeClass::no_end};

void tell_ages(Growth& growth)
{
    std::array<AgeClass, age_classes_ns.size()> classes;
    for (std::size_t i = 0; i < classes.size(); ++i) classes[i].below_ns = age_classes_ns[i];
    for (const Block& block : growth.blocks) {
        AgeClass& its = *std::upper_bound(classes.begin(), classes.end() - 1, block.age.nanoseconds,
                                          [](std::uint64_t age, const AgeClass& each) { return age < each.below_ns; });
        its.counts.blocks += 1;
        its.counts.bytes += block.size;
        if (growth.oldest.address == nullptr || block.generation < growth.oldest.generation) growth.oldest = block;
    }
    for (const AgeClass& each : classes)
        if (each.counts.blocks != 0) growth.ages.push_back(each);
}

} // namespace

struct GrowthWatch::State {
    Generation first = mark("growth watch");
    // All that follows, but for the last group, is used under a Lock.
    std::size_t readings = 0;
    std::unordered_map<const Frame*, Series> series; ///< by stack, each of `readings` figures
    std::unordered_map<const Frame*, Stack> stacks;

    bool stopped = false;
    bool at_marks = false;
    std::uint64_t interval_ns = 0; ///< 0: not by time
    int signal = 0;                ///< 0: none
    std::uint32_t signals_read = 0;

    std::unique_ptr<std::thread> reader;
    pid_t process = 0; ///< that has the reader

    void read(Generation last)
    {
        const Snapshot now = survivors(first, last);
        const Lock lock;
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

namespace {

constexpr Generation now_and_later{~std::uint64_t{0}};

} // namespace

/// The reading thread: what there is to do is told by state that it compares, so a call too many does no harm.
class GrowthWatch::Reader {
public:
    explicit Reader(State& state) : state_(state), generation_(current_generation()) {}

    void run()
    {
        const platform::Guard guard;
        for (;;) {
            const std::uint32_t seen = reading_calls.load(std::memory_order_acquire);
            Generation last = now_and_later;
            bool due = false;
            std::uint64_t limit_ns = 0;
            {
                const Lock lock;
                if (state_.stopped) return;
                const bool marked = is_marked(last); // each of them, since each notes what it has seen
                const bool signalled = is_signalled();
                const bool timed = is_time(limit_ns);
                due = marked || signalled || timed;
            }
            if (due)
                state_.read(last);
            else
                await_reading_call(seen, limit_ns);
        }
    }

private:
    /// `last` becomes the generation before the newest mark.
    bool is_marked(Generation& last)
    {
        const Generation now = current_generation();
        if (!state_.at_marks || now == generation_) return false;
        generation_ = now;
        last = Generation{static_cast<std::uint64_t>(now) - 1};
        return true;
    }

    bool is_signalled()
    {
        if (state_.signal == 0) return false;
        const std::uint32_t now = signal_count(state_.signal);
        if (now == state_.signals_read) return false;
        state_.signals_read = now;
        return true;
    }

    /// `limit_ns` becomes the time that is left.
    bool is_time(std::uint64_t& limit_ns)
    {
        if (state_.interval_ns == 0) return false;
        const std::uint64_t now_ns = platform::monotonic_ns();
        if (next_ns_ == 0) next_ns_ = now_ns + state_.interval_ns;
        const bool due = now_ns >= next_ns_;
        if (due) next_ns_ = now_ns + state_.interval_ns;
        limit_ns = next_ns_ - now_ns;
        return due;
    }

    State& state_;
    Generation generation_; ///< of the mark that was read last
    std::uint64_t next_ns_ = 0;
};

GrowthWatch::GrowthWatch()
{
    const platform::Guard guard;
    state_ = new State;
}

GrowthWatch::~GrowthWatch()
{
    const platform::Guard guard;
    {
        const Lock lock;
        state_->stopped = true;
    }
    if (state_->signal != 0) give_back_signal(state_->signal);
    if (state_->at_marks) watches_of_marks.fetch_sub(1, std::memory_order_relaxed);
    if (state_->reader != nullptr && state_->process == getpid()) {
        call_readers();
        state_->reader->join();
    } else
        static_cast<void>(state_->reader.release()); // in a forked child there is no such thread to join
    delete state_;
}

void GrowthWatch::read()
{
    const platform::Guard guard;
    state_->read(now_and_later);
    if (!state_->at_marks) mark();
}

/// Changes what readings are taken for, with a thread to take them.
template <class Change>
void GrowthWatch::read_for(Change change)
{
    const platform::Guard guard;
    {
        const Lock lock;
        change(*state_);
    }
    if (state_->reader == nullptr) {
        state_->process = getpid();
        state_->reader = std::make_unique<std::thread>([reader = Reader(*state_)]() mutable { reader.run(); });
    }
    call_readers();
}

void GrowthWatch::read_at_marks()
{
    read_for([](State& state) {
        if (!state.at_marks) watches_of_marks.fetch_add(1, std::memory_order_relaxed);
        state.at_marks = true;
    });
}

void GrowthWatch::read_every(std::uint64_t interval_ms)
{
    read_for([interval_ms](State& state) { state.interval_ns = std::max<std::uint64_t>(interval_ms, 1) * 1'000'000; });
}

void GrowthWatch::read_on_signal(int signal)
{
    read_for([signal](State& state) {
        if (state.signal != 0) give_back_signal(state.signal);
        state.signal = 0;
        if (!take_signal(signal))
            throw std::system_error(errno, std::generic_category(), "GrowthWatch::read_on_signal");
        state.signal = signal;
        state.signals_read = signal_count(signal);
    });
}

std::size_t GrowthWatch::size() const
{
    const Lock lock;
    return state_->readings;
}

std::vector<Growth> GrowthWatch::growing() const
{
    const platform::Guard guard;
    std::vector<std::pair<Stack, Series>> read; // names are looked up without the lock, since that takes others
    {
        const Lock lock;
        if (state_->readings < analyse::least_readings) return {};
        for (const auto& [frames, figures] : state_->series) read.emplace_back(state_->stacks.at(frames), figures);
    }
    std::map<std::string_view, Growth> by_site;
    std::unordered_map<const Frame*, std::string_view> site_of;
    for (const auto& [stack, figures] : read) {
        Block block;
        block.stack = stack;
        const std::string_view site = Snapshot::of({block}).group_by(by_call_site).front().label();
        site_of[stack.begin()] = site;
        Growth& growth = by_site[site];
        growth.site = site;
        growth.readings.resize(figures.size());
        for (std::size_t i = 0; i < figures.size(); ++i) {
            growth.readings[i].blocks += figures[i].blocks;
            growth.readings[i].bytes += figures[i].bytes;
        }
    }
    const Snapshot now = survivors(state_->first);
    std::vector<Growth> all;
    for (auto& [site, growth] : by_site) {
        const analyse::Rise blocks = analyse::rise_of(growth.readings, &Counts::blocks);
        const analyse::Rise bytes = analyse::rise_of(growth.readings, &Counts::bytes);
        growth.in_blocks = blocks.rises;
        growth.in_bytes = bytes.rises;
        if (!growth.in_blocks && !growth.in_bytes) continue;
        growth.never_falls = (blocks.never_falls || !blocks.rises) && (bytes.never_falls || !bytes.rises);
        growth.blocks_per_reading = blocks.per_reading;
        growth.bytes_per_reading = bytes.per_reading;
        growth.blocks = now.filter([&, wanted = site](const Block& block) {
            const auto found = site_of.find(block.stack.begin());
            return found != site_of.end() && found->second == wanted;
        });
        tell_ages(growth);
        all.push_back(std::move(growth));
    }
    std::sort(all.begin(), all.end(),
              [](const Growth& a, const Growth& b) { return a.bytes_per_reading > b.bytes_per_reading; });
    return all;
}

std::ostream& operator<<(std::ostream& out, const GrowthWatch& watch)
{
    write_to(out, [&watch] {
        const std::vector<Growth> all = watch.growing();
        const std::string readings = std::to_string(watch.size());
        std::string text;
        if (watch.size() < analyse::least_readings)
            text = "too few readings to tell what grows: " + readings + " of at least " +
                   std::to_string(analyse::least_readings) + "\n";
        else if (all.empty())
            text = "nothing keeps growing in " + readings + " readings\n";
        for (const Growth& growth : all) text += report::growth_text(growth, symbolise::process_names());
        return text;
    });
    return out;
}

} // namespace heapmark
