// SPDX-License-Identifier: BSL-1.0
// The allocator adaptor in containers: every piece is tracked from allocate to deallocate, whatever containers do to each
// other.
#include <heapmark/allocator.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

using heapmark::Generation;
using heapmark::Snapshot;
using heapmark::tracked;

namespace {

/// A pool that hands out pieces of one buffer, and counts.
struct Pool {
    alignas(std::max_align_t) std::byte buffer[std::size_t{1} << 16];
    std::size_t used = 0;
    std::size_t given = 0;
    std::size_t returned = 0;
};

/// Sticks to its pool, as most that have a state do.
template <class T>
struct PoolAllocator {
    using value_type = T;

    explicit PoolAllocator(Pool& its_pool) : pool(&its_pool) {}
    template <class U>
    PoolAllocator(const PoolAllocator<U>& other) : pool(other.pool) // NOLINT(google-explicit-constructor)
    {}
    T* allocate(std::size_t count)
    {
        const std::size_t bytes =
            (count * sizeof(T) + alignof(std::max_align_t) - 1) & ~(alignof(std::max_align_t) - 1);
        if (pool->used + bytes > sizeof pool->buffer) throw std::bad_alloc();
        void* const piece = pool->buffer + pool->used;
        pool->used += bytes;
        ++pool->given;
        return static_cast<T*>(piece);
    }
    void deallocate(T*, std::size_t) { ++pool->returned; }
    friend bool operator==(const PoolAllocator& a, const PoolAllocator& b) { return a.pool == b.pool; }
    friend bool operator!=(const PoolAllocator& a, const PoolAllocator& b) { return a.pool != b.pool; }

    Pool* pool;
};

template <class T>
using Plain = heapmark::allocator<T>;
template <class T>
using Pooled = heapmark::allocator<T, PoolAllocator<T>>;

} // namespace

TEST_CASE("each piece of a vector, under its kind")
{
    const Generation since = heapmark::mark();
    {
        std::vector<int, Plain<int>> numbers(100, 7, Plain<int>("numbers"));
        const Snapshot pieces = tracked(since);
        REQUIRE(pieces.size() == 1);
        CHECK(pieces[0].address == numbers.data());
        CHECK(pieces.bytes() == 100 * sizeof(int));
        CHECK(pieces[0].tag == "numbers");
        numbers.push_back(1);
        CHECK(tracked(since).size() == 1);
        CHECK(tracked(since)[0].address == numbers.data());
    }
    CHECK(tracked(since).empty());
}

TEST_CASE("rebound by containers of nodes")
{
    const Generation since = heapmark::mark();
    auto pool = std::make_unique<Pool>();
    {
        const Pooled<int> from_pool("nodes", PoolAllocator<int>(*pool));
        std::list<int, Pooled<int>> list({1, 2, 3}, from_pool);
        CHECK(tracked(since).size() == 3);
        std::map<int, std::string, std::less<>, Pooled<std::pair<const int, std::string>>> map(from_pool);
        map.emplace(1, "one");
        CHECK(tracked(since).size() == 4);
        std::unordered_map<int, int, std::hash<int>, std::equal_to<>, Pooled<std::pair<const int, int>>> table(
            from_pool);
        for (int i = 0; i < 100; ++i) table[i] = i;
        std::deque<int, Pooled<int>> queue(1000, 1, from_pool);
        CHECK(pool->given - pool->returned == tracked(since).size());
        for (const heapmark::Block& piece : tracked(since)) {
            CHECK(piece.tag == "nodes");
            CHECK(static_cast<std::byte*>(piece.address) >= pool->buffer);
            CHECK(static_cast<std::byte*>(piece.address) < pool->buffer + pool->used);
        }
        auto shared = std::allocate_shared<int>(from_pool, 5);
        CHECK(pool->given - pool->returned == tracked(since).size());
    }
    CHECK(pool->given == pool->returned);
    CHECK(tracked(since).empty());
    static_assert(std::is_same_v<std::allocator_traits<Pooled<int>>::rebind_alloc<char>, Pooled<char>>);
}

TEST_CASE("copied, moved and swapped: of the standard allocator")
{
    using Vector = std::vector<int, Plain<int>>;
    const Generation since = heapmark::mark();
    {
        Vector one(10, 1, Plain<int>("one"));
        Vector two(20, 2, Plain<int>("two"));
        const int* const data = one.data();
        swap(one, two); // with the kind
        CHECK(two.data() == data);
        CHECK(std::string(two.get_allocator().kind()) == "one");
        Vector three(Plain<int>("three"));
        three = std::move(two);
        CHECK(three.data() == data);
        CHECK(std::string(three.get_allocator().kind()) == "one");
        Vector four(Plain<int>("four"));
        four = three; // its own kind
        CHECK(std::string(four.get_allocator().kind()) == "four");
        const Vector five(four);
        CHECK(std::string(five.get_allocator().kind()) == "four");
        const Vector six(std::move(four), Plain<int>("six")); // element by element
        CHECK(six.size() == 10);
        CHECK(tracked(since).group_by(heapmark::by_tag).size() == 4);
    }
    CHECK(tracked(since).empty());
}

TEST_CASE("copied and moved: between pools")
{
    using Vector = std::vector<int, Pooled<int>>;
    const Generation since = heapmark::mark();
    auto pool = std::make_unique<Pool>();
    auto other_pool = std::make_unique<Pool>();
    {
        Vector one(10, 1, Pooled<int>("one", PoolAllocator<int>(*pool)));
        Vector two(5, 2, Pooled<int>("two", PoolAllocator<int>(*other_pool)));
        two = std::move(one); // the pools stay where they are
        CHECK(two.size() == 10);
        CHECK(two.get_allocator().upstream().pool == other_pool.get());
        CHECK(std::string(two.get_allocator().kind()) == "two");
        std::list<int, Pooled<int>> list({1, 2}, two.get_allocator());
        std::list<int, Pooled<int>> same({3}, two.get_allocator());
        list.splice(list.end(), same);
        swap(list, same);
    }
    CHECK(pool->given == pool->returned);
    CHECK(other_pool->given == other_pool->returned);
    CHECK(tracked(since).empty());
}

TEST_CASE("equal where one may release what the other gave")
{
    auto pool = std::make_unique<Pool>();
    auto other_pool = std::make_unique<Pool>();
    const std::string same_text("kind");
    CHECK(Plain<int>("kind") == Plain<int>(same_text.c_str()));
    CHECK(Plain<int>("kind") != Plain<int>("other"));
    CHECK(Plain<int>(Plain<char>("kind")) == Plain<int>("kind"));
    CHECK(Pooled<int>("kind", PoolAllocator<int>(*pool)) == Pooled<int>("kind", PoolAllocator<int>(*pool)));
    CHECK(Pooled<int>("kind", PoolAllocator<int>(*pool)) != Pooled<int>("kind", PoolAllocator<int>(*other_pool)));
    using Traits = std::allocator_traits<Plain<int>>;
    static_assert(!Traits::is_always_equal::value && Traits::propagate_on_container_swap::value &&
                  Traits::propagate_on_container_move_assignment::value &&
                  !Traits::propagate_on_container_copy_assignment::value);
    static_assert(!std::allocator_traits<Pooled<int>>::propagate_on_container_move_assignment::value);
}

TEST_CASE("errors of the upstream pass, and leave nothing")
{
    const Generation since = heapmark::mark();
    auto pool = std::make_unique<Pool>();
    Pooled<int> allocator("ints", PoolAllocator<int>(*pool));
    CHECK_THROWS_AS(static_cast<void>(allocator.allocate(std::size_t{1} << 20)), std::bad_alloc);
    CHECK(tracked(since).empty());
    CHECK(allocator.max_size() == std::allocator_traits<PoolAllocator<int>>::max_size(allocator.upstream()));
    struct Throws {
        explicit Throws(int) { throw std::runtime_error("no"); }
    };
    std::vector<Throws, Plain<Throws>> list;
    CHECK_THROWS_AS(list.emplace_back(1), std::runtime_error);
    CHECK(tracked(since).filter([](const heapmark::Block& b) { return b.tag == "allocator"; }).size() <= 1);
}
