// SPDX-License-Identifier: BSL-1.0
// A std::pmr memory resource whose pieces are tracked (track.hpp); for other allocators see allocator.hpp:
//
//     std::pmr::monotonic_buffer_resource arena;
//     heapmark::pmr::resource watched(&arena, "arena");
//     std::pmr::vector<int> numbers(&watched);
#ifndef HEAPMARK_PMR_HPP
#define HEAPMARK_PMR_HPP

#include <heapmark/track.hpp>

#include <memory_resource>

namespace heapmark {

namespace pmr {

/// Hands on to another memory resource and tracks each piece, so that what a pool or a monotonic buffer gave out, and
/// never got back, can be listed piece by piece. `kind` must outlive it.
class resource final : public std::pmr::memory_resource {
public:
    explicit resource(std::pmr::memory_resource* upstream = std::pmr::get_default_resource(),
                      const char* kind = "pmr") noexcept
        : upstream_(upstream), kind_(kind)
    {}

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        void* piece = upstream_->allocate(bytes, alignment);
        try {
            track(piece, bytes, kind_);
        } catch (...) {
            upstream_->deallocate(piece, bytes, alignment);
            throw;
        }
        return piece;
    }
    void do_deallocate(void* piece, std::size_t bytes, std::size_t alignment) override
    {
        untrack(piece, kind_);
        upstream_->deallocate(piece, bytes, alignment);
    }
    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override
    {
        return this == &other;
    }

    std::pmr::memory_resource* upstream_;
    const char* kind_;
};

} // namespace pmr

} // namespace heapmark

#endif
