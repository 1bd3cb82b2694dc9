// SPDX-License-Identifier: BSL-1.0
// What can be told of a root's word only while its thread stands still: the function whose frame it is in, the module
// whose thread-local storage, the key.
#pragma once

#include "platform/page_vector.hpp"
#include "platform/roots.hpp"

#include <cstdint>
#include <span>

namespace heapmark {

struct RootDetail {
    std::uint32_t root;             ///< index of the range
    std::uint64_t offset;           ///< of the word, from the range's first
    std::uint64_t frame;            ///< of the function, as Frame::bits; 0: not known
    platform::StoragePlace storage; ///< of modules' thread-local storage, or of a key

    friend bool operator<(const RootDetail& a, const RootDetail& b) noexcept
    {
        return a.root != b.root ? a.root < b.root : a.offset < b.offset;
    }
};

/// Fills in what is known of each word; words beyond the first few hundred stay as they are, since the world waits.
/// `own_thread` is the calling one, with its kept registers at the beginning of its stack.
void find_root_details(std::span<RootDetail> details, std::span<const platform::Root> roots,
                       const platform::ThreadLayout& layout, const platform::ThreadContext& own_thread,
                       std::span<const platform::ThreadContext> others) noexcept;

} // namespace heapmark
