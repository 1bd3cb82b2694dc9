// SPDX-License-Identifier: BSL-1.0
#include "analyse/rising.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

namespace heapmark::analyse {
namespace {

/// The least of each part of equal length; leading readings that do not fill one are left out.
template <std::size_t Parts>
std::array<std::uint64_t, Parts> least_of_parts(std::span<const Counts> readings, std::uint64_t Counts::*figure)
{
    const std::size_t length = readings.size() / Parts;
    readings = readings.last(length * Parts);
    std::array<std::uint64_t, Parts> least{};
    for (std::size_t index = 0; index < Parts; ++index) {
        const auto part = readings.subspan(index * length, length);
        const auto less = [figure](const Counts& a, const Counts& b) { return a.*figure < b.*figure; };
        least[index] = (*std::min_element(part.begin(), part.end(), less)).*figure;
    }
    return least;
}

/// `unit`: the figure of one block.
bool levels_off(const std::array<std::uint64_t, 4>& least, double unit)
{
    const double before = static_cast<double>(least[2] - least[1]) / unit;
    const double last = static_cast<double>(least[3] - least[2]) / unit;
    const double missing = before - last;
    return 2 * last < before && missing * missing > 3 * 3 * before;
}

double median_slope(std::span<const Counts> readings, std::uint64_t Counts::*figure)
{
    constexpr std::size_t most_points = 128; // 8,128 pairs
    const std::size_t step = (readings.size() + most_points - 1) / most_points;
    std::vector<double> slopes;
    for (std::size_t later = readings.size() - 1; later > 0; later -= std::min(step, later))
        for (std::size_t earlier = 0; earlier < later; earlier += step)
            slopes.push_back(
                (static_cast<double>(readings[later].*figure) - static_cast<double>(readings[earlier].*figure)) /
                static_cast<double>(later - earlier));
    const auto middle = slopes.begin() + static_cast<std::ptrdiff_t>(slopes.size() / 2);
    std::nth_element(slopes.begin(), middle, slopes.end());
    return *middle;
}

} // namespace

Rise rise_of(std::span<const Counts> readings, std::uint64_t Counts::*figure)
{
    Rise rise;
    if (readings.size() < least_readings) return rise;
    const auto least = least_of_parts<4>(readings, figure);
    const auto least_of_eighths = least_of_parts<8>(readings, figure);
    const bool each_is_more = std::adjacent_find(least.begin(), least.end(), std::greater_equal<>()) == least.end() &&
                              std::is_sorted(least_of_eighths.begin(), least_of_eighths.end());
    const Counts& last = readings.back();
    const double unit =
        static_cast<double>(last.*figure) / static_cast<double>(std::max<std::uint64_t>(last.blocks, 1));
    rise.rises = each_is_more && !levels_off(least, std::max(unit, 1.0));
    if (!rise.rises) return rise;
    rise.never_falls = std::is_sorted(readings.begin(), readings.end(),
                                      [figure](const Counts& a, const Counts& b) { return a.*figure < b.*figure; });
    rise.per_reading = median_slope(readings, figure);
    return rise;
}

} // namespace heapmark::analyse
