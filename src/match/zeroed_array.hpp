// SPDX-License-Identifier: BSL-1.0
// The memory of a table: zeroed pages, huge ones where there are, since a table of millions is read all over the place.
#pragma once

#include "platform/pages.hpp"

#include <cstddef>
#include <new>
#include <utility>

namespace heapmark::match {

/// An array of elements that are valid when zero.
template <class T>
class ZeroedArray {
public:
    ZeroedArray() noexcept = default;
    explicit ZeroedArray(std::size_t size) : data_(static_cast<T*>(platform::map_pages(size * sizeof(T)))), size_(size)
    {
        if (data_ == nullptr) throw std::bad_alloc();
        constexpr std::size_t huge_page_bytes = std::size_t{1} << 21;
        if (size * sizeof(T) >= 2 * huge_page_bytes) platform::prefer_huge_pages(data_, size * sizeof(T));
    }
    ZeroedArray(ZeroedArray&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0))
    {}
    ZeroedArray& operator=(ZeroedArray&& other) noexcept
    {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~ZeroedArray()
    {
        if (data_ != nullptr) platform::unmap_pages(data_, size_ * sizeof(T));
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] T* begin() const noexcept { return data_; }
    [[nodiscard]] T* end() const noexcept { return data_ + size_; }
    [[nodiscard]] T& operator[](std::size_t index) const noexcept { return data_[index]; }

private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace heapmark::match
