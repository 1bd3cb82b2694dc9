// SPDX-License-Identifier: BSL-1.0
// A standard allocator whose pieces are tracked (track.hpp), for containers whose allocator takes its memory from somewhere
// else than the heap:
//
//     using PoolAllocator = heapmark::allocator<int, MyPoolAllocator<int>>;
//     std::vector<int, PoolAllocator> numbers(PoolAllocator("numbers", MyPoolAllocator<int>(pool)));
#ifndef HEAPMARK_ALLOCATOR_HPP
#define HEAPMARK_ALLOCATOR_HPP

#include <heapmark/track.hpp>

#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

namespace heapmark {

/// Hands on to another allocator and tracks each piece under a kind, which must outlive it. As pmr::resource does for memory
/// resources.
/// Equal are those of the same kind whose upstreams are equal: only they may release each other's pieces. What containers do
/// when they are copied, moved or swapped is as the upstream has it; where all upstreams are equal, the kind goes along with
/// what is moved or swapped.
/// Errors: allocate throws what the upstream throws, and std::bad_alloc. Threads: as the upstream; tracking takes a lock.
template <class T, class Upstream = std::allocator<T>>
class allocator {
    using Traits = std::allocator_traits<Upstream>;
    using UpstreamsAreEqual = typename Traits::is_always_equal;

    template <class, class>
    friend class allocator;

public:
    using value_type = T;
    using pointer = typename Traits::pointer;
    using const_pointer = typename Traits::const_pointer;
    using void_pointer = typename Traits::void_pointer;
    using const_void_pointer = typename Traits::const_void_pointer;
    using size_type = typename Traits::size_type;
    using difference_type = typename Traits::difference_type;
    using is_always_equal = std::false_type;
    using propagate_on_container_copy_assignment = typename Traits::propagate_on_container_copy_assignment;
    using propagate_on_container_move_assignment =
        std::integral_constant<bool, Traits::propagate_on_container_move_assignment::value || UpstreamsAreEqual::value>;
    using propagate_on_container_swap =
        std::integral_constant<bool, Traits::propagate_on_container_swap::value || UpstreamsAreEqual::value>;

    template <class U>
    struct rebind {
        using other = allocator<U, typename Traits::template rebind_alloc<U>>;
    };

    static_assert(std::is_same<typename Traits::value_type, T>::value, "the upstream allocates something else");

    template <class U = Upstream, class = std::enable_if_t<std::is_default_constructible<U>::value>>
    explicit allocator(const char* kind = "allocator") : upstream_(), kind_(kind)
    {}
    allocator(const char* kind, const Upstream& upstream) : upstream_(upstream), kind_(kind) {}

    template <class U, class OtherUpstream,
              class = std::enable_if_t<std::is_constructible<Upstream, const OtherUpstream&>::value>>
    allocator(
        const allocator<U, OtherUpstream>& other) noexcept // NOLINT(google-explicit-constructor): as containers rebind
        : upstream_(other.upstream_), kind_(other.kind_)
    {}

    [[nodiscard]] pointer allocate(size_type count)
    {
        pointer piece = Traits::allocate(upstream_, count);
        try {
            track(address_of(piece), count * sizeof(T), kind_);
        } catch (...) {
            Traits::deallocate(upstream_, piece, count);
            throw;
        }
        return piece;
    }

    void deallocate(pointer piece, size_type count) noexcept
    {
        untrack(address_of(piece), kind_);
        Traits::deallocate(upstream_, piece, count);
    }

    template <class U, class... Arguments>
    void construct(U* object, Arguments&&... arguments)
    {
        Traits::construct(upstream_, object, std::forward<Arguments>(arguments)...);
    }
    template <class U>
    void destroy(U* object)
    {
        Traits::destroy(upstream_, object);
    }
    [[nodiscard]] size_type max_size() const noexcept { return Traits::max_size(upstream_); }
    [[nodiscard]] allocator select_on_container_copy_construction() const
    {
        return allocator(kind_, Traits::select_on_container_copy_construction(upstream_));
    }

    [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }
    [[nodiscard]] const char* kind() const noexcept { return kind_; }

    friend bool operator==(const allocator& a, const allocator& b) noexcept
    {
        return a.upstream_ == b.upstream_ && std::string_view(a.kind_) == std::string_view(b.kind_);
    }
    friend bool operator!=(const allocator& a, const allocator& b) noexcept { return !(a == b); }

private:
    static const void* address_of(T* piece) noexcept { return piece; }
    template <class Fancy>
    static const void* address_of(const Fancy& piece) noexcept
    {
        return piece.operator->(); // what C++20 calls std::to_address
    }

    Upstream upstream_;
    const char* kind_;
};

} // namespace heapmark

#endif
