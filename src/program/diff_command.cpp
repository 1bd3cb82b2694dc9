// SPDX-License-Identifier: BSL-1.0
// heapmark diff OLD NEW: which tests allocate more than they did.
#include "program/commands.hpp"
#include "program/test_results.hpp"
#include "report/words.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace heapmark::program {
namespace {

struct Change {
    std::string test;
    Used before;
    Used after;

    [[nodiscard]] bool is_more() const
    {
        return after.allocations > before.allocations || after.allocated_bytes > before.allocated_bytes ||
               after.peak_bytes > before.peak_bytes;
    }
    [[nodiscard]] bool is_less() const
    {
        return !is_more() && (after.allocations < before.allocations ||
                              after.allocated_bytes < before.allocated_bytes || after.peak_bytes < before.peak_bytes);
    }
    [[nodiscard]] std::int64_t more_bytes() const
    {
        return static_cast<std::int64_t>(after.allocated_bytes - before.allocated_bytes);
    }
};

/// "12 -> 15 (+25 %)"; one number where nothing changed.
std::string in_column(std::uint64_t before, std::uint64_t after)
{
    using report::grouped_digits;
    if (before == after) return grouped_digits(after);
    std::string text = grouped_digits(before) + " -> " + grouped_digits(after);
    if (before == 0) return text;
    char percent[32];
    std::snprintf(percent, sizeof percent, " (%+.0f %%)",
                  100 * (static_cast<double>(after) - static_cast<double>(before)) / static_cast<double>(before));
    return text + percent;
}

std::string table_of(const std::vector<Change>& changes)
{
    std::vector<std::vector<std::string>> rows{{"allocations", "bytes allocated", "bytes at once", "test"}};
    for (const Change& change : changes)
        rows.push_back({in_column(change.before.allocations, change.after.allocations),
                        in_column(change.before.allocated_bytes, change.after.allocated_bytes),
                        in_column(change.before.peak_bytes, change.after.peak_bytes), change.test});
    std::size_t widths[3] = {};
    for (const auto& row : rows)
        for (std::size_t i = 0; i < 3; ++i) widths[i] = std::max(widths[i], row[i].size());
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < 3; ++i) text += report::left_aligned(row[i], widths[i]) + "  ";
        text += row[3] + "\n";
    }
    return text;
}

} // namespace

int diff(const DiffArguments& arguments)
{
    const auto& [old_path, new_path] = arguments;
    const TestResults before = read_test_results(old_path);
    const TestResults after = read_test_results(new_path);
    std::vector<Change> more;
    std::size_t compared = 0;
    std::size_t less = 0;
    for (const auto& [test, used] : after) {
        const auto known = before.find(test);
        if (known == before.end()) continue;
        ++compared;
        Change change{test, known->second, used};
        if (change.is_less()) ++less;
        if (change.is_more()) more.push_back(std::move(change));
    }
    if (compared == 0) throw std::runtime_error(old_path + " and " + new_path + " have no test in common");
    std::stable_sort(more.begin(), more.end(),
                     [](const Change& a, const Change& b) { return a.more_bytes() > b.more_bytes(); });

    std::string text = more.empty() ? "no test allocates more\n" : table_of(more);
    text += "compared: " + report::count_of(compared, "test") + ", of which " + std::to_string(more.size()) +
            " allocate more and " + std::to_string(less) + " less";
    if (after.size() != compared) text += "; only in " + new_path + ": " + std::to_string(after.size() - compared);
    if (before.size() != compared) text += "; only in " + old_path + ": " + std::to_string(before.size() - compared);
    text += "\n";
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) return unusable;
    return more.empty() ? all_well : found_something;
}

} // namespace heapmark::program
