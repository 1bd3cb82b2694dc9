// SPDX-License-Identifier: BSL-1.0
// Texts that stay where they are until all of them go: one allocation for thousands.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace heapmark::match {

class KeptTexts {
public:
    KeptTexts() = default;
    KeptTexts(KeptTexts&& other) noexcept
        : chunks_(std::move(other.chunks_)), at_(std::exchange(other.at_, nullptr)),
          left_(std::exchange(other.left_, 0))
    {}
    KeptTexts& operator=(KeptTexts&& other) noexcept
    {
        std::swap(chunks_, other.chunks_);
        std::swap(at_, other.at_);
        std::swap(left_, other.left_);
        return *this;
    }
    ~KeptTexts() = default;

    /// A copy that lives as long as this object, or the one that it is moved to.
    std::string_view keep(std::string_view text)
    {
        if (text.size() > left_) {
            left_ = std::max(text.size(), chunk_bytes);
            chunks_.push_back(std::unique_ptr<char[]>(new char[left_])); // nothing is filled
            at_ = chunks_.back().get();
        }
        char* const copy = at_;
        std::copy_n(text.data(), text.size(), copy);
        at_ += text.size();
        left_ -= text.size();
        return {copy, text.size()};
    }

private:
    static constexpr std::size_t chunk_bytes = std::size_t{64} << 10;

    std::vector<std::unique_ptr<char[]>> chunks_;
    char* at_ = nullptr;
    std::size_t left_ = 0; ///< in the last chunk
};

} // namespace heapmark::match
