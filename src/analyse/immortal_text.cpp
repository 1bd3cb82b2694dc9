// SPDX-License-Identifier: BSL-1.0
#include "analyse/immortal_text.hpp"

#include <cstring>

namespace heapmark::analyse {

namespace {

constexpr std::size_t chunk_bytes = 16 * 1024;

struct Labels;

} // namespace

std::string_view ImmortalText::keep(std::string_view text)
{
    if (text.empty()) return {};
    if (const auto found = known_.find(text); found != known_.end()) return *found;
    if (text.size() > left_) {
        const std::size_t bytes = text.size() > chunk_bytes / 4 ? text.size() : chunk_bytes;
        char* const memory = MallocAllocator<char>{}.allocate(bytes);
        if (bytes != chunk_bytes) { // a chunk of its own; go on with the old one
            std::memcpy(memory, text.data(), text.size());
            return *known_.emplace(memory, text.size()).first;
        }
        chunk_ = memory;
        left_ = bytes;
    }
    std::memcpy(chunk_, text.data(), text.size());
    const std::string_view kept{chunk_, text.size()};
    chunk_ += text.size();
    left_ -= text.size();
    return *known_.insert(kept).first;
}

std::string_view intern_label(std::string_view text)
{
    const ColdLock<Labels> lock;
    return immortal<ImmortalText>().keep(text);
}

} // namespace heapmark::analyse
