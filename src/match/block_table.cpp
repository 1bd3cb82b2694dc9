// SPDX-License-Identifier: BSL-1.0
#include "match/block_table.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace heapmark::match {

void BlockTable::make_anew()
{
    std::vector<Place> released;
    for (const Entry& entry : entries_)
        if (entry.state == Entry::State::released) released.push_back(entry.place);
    const std::size_t live = used_ - released.size();

    Place oldest_kept;
    std::size_t kept = used_;
    if (released.size() > std::max(live, allowance_)) {
        const auto middle = released.begin() + static_cast<std::ptrdiff_t>(released.size() / 2);
        std::nth_element(released.begin(), middle, released.end());
        oldest_kept = *middle;
        kept = live + released.size() / 2 + 1;
        has_forgotten_ = true;
    }

    ZeroedArray<Entry> old(std::bit_ceil(std::max<std::size_t>(kept * 2, 128)));
    std::swap(old, entries_);
    used_ = 0;
    for (const Entry& entry : old) {
        const bool keep = entry.alive() || (entry.state == Entry::State::released && entry.place >= oldest_kept);
        if (!keep) continue;
        entries_[slot(entry.address)] = entry;
        ++used_;
    }
}

} // namespace heapmark::match
