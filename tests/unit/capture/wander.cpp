// SPDX-License-Identifier: BSL-1.0
// The choice of what to call next, and the lists of what there is.
#include "wander.hpp"

#include "wander_stops.hpp"

#include <vector>

namespace capture_test {
namespace {

struct Lists {
    std::vector<Stop> all;
    std::vector<Stop> signal_safe;
};

const Lists& lists()
{
    static const Lists made = [] {
        Lists result;
        for (const Stops& stops : {stops_O0(), stops_O1(), stops_O2(), stops_O3(), stops_Os(), stops_with_fp()}) {
            result.all.insert(result.all.end(), stops.all.begin(), stops.all.end());
            result.signal_safe.insert(result.signal_safe.end(), stops.all.begin(),
                                      stops.all.begin() + stops.signal_safe_count);
        }
        return result;
    }();
    return made;
}

} // namespace

std::span<const Stop> all_stops() noexcept { return lists().all; }
std::span<const Stop> signal_safe_stops() noexcept { return lists().signal_safe; }

Stop Wanderer::choose() noexcept
{
    if (depth < aim && depth < most_deep) return stops[below(stops.size())];
    --looks_left;
    const auto most = static_cast<std::uint64_t>(most_deep);
    const auto kind = below(32);
    // Mostly the next look is a few frames away; at times anywhere.
    if (kind < 12)
        aim = depth;
    else if (kind < 29)
        aim = depth - 3 + static_cast<int>(below(7));
    else
        aim = static_cast<int>(below(most + 1));
    if (aim < 1) aim = 1;
    if (aim > most_deep) aim = most_deep;
    return look;
}

void wander(Wanderer& wanderer)
{
    while (wanderer.looks_left > 0) {
        wanderer.depth = 0;
        wanderer.aim = wanderer.aim < 1 ? 1 : wanderer.aim;
        wanderer.stops[wanderer.below(wanderer.stops.size())](wanderer);
    }
}

} // namespace capture_test
