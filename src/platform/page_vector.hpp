// SPDX-License-Identifier: BSL-1.0
// A growing array on pages of its own: for work that must not touch the heap, since another thread may have been stopped
// while it held the allocator's lock.
#pragma once

#include "platform/pages.hpp"

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

namespace heapmark::platform {

template <class T>
class PageVector {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                  "elements are moved as bytes");

public:
    PageVector() noexcept = default;
    PageVector(PageVector&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)),
          capacity_(std::exchange(other.capacity_, 0)), mapped_bytes_(std::exchange(other.mapped_bytes_, 0))
    {}
    PageVector& operator=(PageVector&& other) noexcept
    {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
        std::swap(mapped_bytes_, other.mapped_bytes_);
        return *this;
    }
    ~PageVector()
    {
        if (data_ != nullptr) unmap_pages(data_, mapped_bytes_);
    }

    /// False when memory ran out: then nothing has changed.
    [[nodiscard]] bool reserve(std::size_t count) noexcept
    {
        if (count <= capacity_) return true;
        const std::size_t bytes = ((count > capacity_ * 2 ? count : capacity_ * 2) * sizeof(T) + 0xffff) & ~0xffffUL;
        void* fresh = map_pages(bytes);
        if (fresh == nullptr) return false;
        if (data_ != nullptr) {
            std::memcpy(fresh, data_, size_ * sizeof(T));
            unmap_pages(data_, mapped_bytes_);
        }
        data_ = static_cast<T*>(fresh);
        capacity_ = bytes / sizeof(T);
        mapped_bytes_ = bytes;
        return true;
    }

    /// The same for an array that will be written to from end to end.
    [[nodiscard]] bool reserve_dense(std::size_t count) noexcept
    {
        constexpr std::size_t worth_it = std::size_t{2} << 20;
        const std::size_t before = capacity_;
        if (!reserve(count)) return false;
        if (capacity_ != before && mapped_bytes_ >= worth_it) prefer_huge_pages(data_, mapped_bytes_);
        return true;
    }

    [[nodiscard]] bool push_back(T value) noexcept
    {
        if (size_ == capacity_ && !reserve(size_ + 1)) return false;
        data_[size_++] = value;
        return true;
    }

    /// New elements are zero, if the array has never been longer.
    [[nodiscard]] bool resize(std::size_t count) noexcept
    {
        if (!reserve(count)) return false;
        size_ = count;
        return true;
    }
    void pop_back() noexcept { --size_; }
    void clear() noexcept { size_ = 0; }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] T* data() noexcept { return data_; }
    [[nodiscard]] const T* data() const noexcept { return data_; }
    [[nodiscard]] T& operator[](std::size_t index) noexcept { return data_[index]; }
    [[nodiscard]] const T& operator[](std::size_t index) const noexcept { return data_[index]; }
    [[nodiscard]] T& back() noexcept { return data_[size_ - 1]; }
    [[nodiscard]] T* begin() noexcept { return data_; }
    [[nodiscard]] T* end() noexcept { return data_ + size_; }
    [[nodiscard]] const T* begin() const noexcept { return data_; }
    [[nodiscard]] const T* end() const noexcept { return data_ + size_; }

private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
    std::size_t mapped_bytes_ = 0;
};

} // namespace heapmark::platform
