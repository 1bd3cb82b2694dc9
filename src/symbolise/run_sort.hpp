// SPDX-License-Identifier: BSL-1.0
// A stable sort for what is in order but for some places, as lines of a source are: by merging the runs between those.
#pragma once

#include "analyse/immortal_text.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace heapmark::symbolise {

/// Cost: comparisons as the number of elements times the logarithm of that of runs. Allocates; may throw std::bad_alloc,
/// and leaves the list as it was then.
template <class T, class IsBefore>
void sort_runs(std::span<T> list, IsBefore is_before)
{
    using Ends = std::vector<std::size_t, analyse::MallocAllocator<std::size_t>>;
    Ends ends;
    for (std::size_t i = 1; i < list.size(); ++i)
        if (is_before(list[i], list[i - 1])) ends.push_back(i);
    if (ends.empty()) return;
    ends.push_back(list.size());

    std::vector<T, analyse::MallocAllocator<T>> room(list.size());
    std::span<T> from = list;
    std::span<T> to = room;
    for (; ends.size() > 1; std::swap(from, to)) {
        std::size_t begin = 0;
        std::size_t kept = 0;
        for (std::size_t run = 0; run < ends.size(); run += 2) {
            const std::size_t middle = ends[run];
            const std::size_t end = run + 1 < ends.size() ? ends[run + 1] : middle;
            std::size_t left = begin;
            std::size_t right = middle;
            for (std::size_t at = begin; at < end; ++at)
                to[at] = left < middle && (right == end || !is_before(from[right], from[left])) ? from[left++]
                                                                                                : from[right++];
            begin = end;
            ends[kept++] = end;
        }
        ends.resize(kept);
    }
    if (from.data() != list.data()) std::copy(from.begin(), from.end(), list.begin());
}

} // namespace heapmark::symbolise
