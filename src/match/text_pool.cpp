// SPDX-License-Identifier: BSL-1.0
#include "match/text_pool.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace heapmark::match {

TextPool::Id TextPool::take()
{
    if (!free_.empty()) {
        const Id id = free_.back();
        free_.pop_back();
        return id;
    }
    if (used_ == has_more) throw std::length_error("too many live blocks");
    if (used_ >> chunk_bits == chunks_.size()) chunks_.emplace_back(std::size_t{1} << chunk_bits);
    return used_++;
}

TextPool::Id TextPool::keep(std::string_view text)
{
    const Id first = take();
    for (Id id = first;;) {
        Piece& added = piece(id);
        added.size = static_cast<std::uint8_t>(std::min(text.size(), sizeof added.bytes));
        std::memcpy(added.bytes, text.data(), added.size);
        text.remove_prefix(added.size);
        added.next = text.empty() ? 0 : take();
        if (added.next == 0) return piece(first).next == 0 ? first : first | has_more;
        id = added.next;
    }
}

void TextPool::drop(Id id)
{
    if (id == 0) return;
    for (bool more = (id & has_more) != 0; more; more = id != 0) {
        const Id next = piece(id).next;
        give_back(id & ~has_more);
        id = next;
    }
    if (id != 0) give_back(id);
}

void TextPool::give_back(Id id)
{
    __builtin_prefetch(&piece(id), 1); // some text is written there soon
    const Id rested = std::exchange(resting_[oldest_resting_], id);
    oldest_resting_ = (oldest_resting_ + 1) % resting_.size();
    if (rested != 0) free_.push_back(rested);
}

void TextPool::read(Id id, std::string& text) const
{
    text.clear();
    for (; id != 0; id = piece(id).next) text.append(piece(id).bytes, piece(id).size);
}

} // namespace heapmark::match
