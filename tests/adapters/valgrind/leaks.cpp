// SPDX-License-Identifier: BSL-1.0
// Leaks of several kinds. With heapmark, main_guard judges them; without, Valgrind writes suppressions for them, which
// must silence the first.
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#ifdef WITH_HEAPMARK
#include <heapmark/main_guard.hpp>
#endif

namespace {

template <class T>
[[gnu::noinline]] void drop(T* block)
{
    __asm__ volatile("" : "+r"(block) : : "memory");
    block = nullptr;
    __asm__ volatile("" : "+r"(block) : : "memory");
}

struct alignas(64) Wide {
    char bytes[64];
};

template <class T>
struct Shelf {
    [[gnu::noinline]] static void put(std::size_t count) { drop(new T[count]); }
};

inline void inlined_somewhere() { drop(new double(1)); }

[[gnu::noinline]] void by_malloc() { drop(std::malloc(10)); }
[[gnu::noinline]] void by_calloc() { drop(std::calloc(2, 10)); }
[[gnu::noinline]] void by_realloc() { drop(std::realloc(nullptr, 30)); }
[[gnu::noinline]] void by_strdup() { drop(strdup("a copy")); }
[[gnu::noinline]] void by_aligned_alloc() { drop(std::aligned_alloc(64, 128)); }
[[gnu::noinline]] void by_aligned_new() { drop(new Wide); }
[[gnu::noinline]] void by_nothrow() { drop(new (std::nothrow) int(3)); }
[[gnu::noinline]] void by_string() { drop(new std::string(100, 'x')); }

void leak_all()
{
    by_malloc();
    by_calloc();
    by_realloc();
    by_strdup();
    by_aligned_alloc();
    by_aligned_new();
    by_nothrow();
    by_string();
    Shelf<int>::put(3);
    Shelf<std::string>::put(2);
    inlined_somewhere();
    [](int size) { drop(new char[static_cast<std::size_t>(size)]); }(7);
}

} // namespace

int main()
{
#ifdef WITH_HEAPMARK
    heapmark::main_guard guard{"leaks"};
    leak_all();
    return guard.status(0);
#else
    leak_all();
    return 0;
#endif
}
