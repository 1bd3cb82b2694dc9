// SPDX-License-Identifier: BSL-1.0
// Tables of every way to obtain and to release a block. Each way is a function in a section of its own, whose bounds
// the linker gives, so that a test can tell whether a return address lies in exactly that function.
#pragma once

#include "both_ways.hpp"

#include <cstddef>
#include <malloc.h>
#include <new>

#include <heapmark/fwd.hpp>

void operator delete(void*, std::size_t) noexcept; // clang++ 14 has <new> leave these out
void operator delete[](void*, std::size_t) noexcept;
void operator delete(void*, std::size_t, std::align_val_t) noexcept;
void operator delete[](void*, std::size_t, std::align_val_t) noexcept;

#ifdef HEAPMARK_TEST_PRELOADED
// C23; the C library may not have them yet.
inline void free_sized_now(void* block, std::size_t size)
{
    c_api<void(void*, std::size_t)>("free_sized")(block, size);
}
inline void free_aligned_sized_now(void* block, std::size_t alignment, std::size_t size)
{
    c_api<void(void*, std::size_t, std::size_t)>("free_aligned_sized")(block, alignment, size);
}
#else
extern "C" void free_sized(void*, std::size_t);
extern "C" void free_aligned_sized(void*, std::size_t, std::size_t);
#define free_sized_now free_sized
#define free_aligned_sized_now free_aligned_sized
#endif

namespace doors {

enum class Family { c, single, array, aligned_single, aligned_array };

inline constexpr std::size_t alignment = 128;
inline constexpr auto std_alignment = std::align_val_t{alignment};

/// Functions of one program may not be inlined into their caller, nor leave by a jump: opaque() stays behind the call.
#define OBTAIN(name, expression)                                                                                       \
    extern "C" const char __start_##name[];                                                                            \
    extern "C" const char __stop_##name[];                                                                             \
    [[gnu::noinline, gnu::section(#name)]] inline void* name([[maybe_unused]] std::size_t size)                        \
    {                                                                                                                  \
        return opaque(static_cast<void*>(expression));                                                                 \
    }
#define RELEASE(name, statement)                                                                                       \
    extern "C" const char __start_##name[];                                                                            \
    extern "C" const char __stop_##name[];                                                                             \
    [[gnu::noinline, gnu::section(#name)]] inline void name(void* block, [[maybe_unused]] std::size_t size)            \
    {                                                                                                                  \
        block = opaque(block);                                                                                         \
        statement;                                                                                                     \
        __asm__ volatile("" : : : "memory");                                                                           \
    }

OBTAIN(obtain_malloc, malloc(size))
OBTAIN(obtain_calloc, calloc(1, size))
OBTAIN(obtain_calloc_bytes, calloc(size, 1))
OBTAIN(obtain_realloc, realloc(opaque(static_cast<void*>(nullptr)), size))
OBTAIN(obtain_reallocarray, reallocarray(opaque(static_cast<void*>(nullptr)), size, 1))
OBTAIN(obtain_memalign, memalign(alignment, size))
OBTAIN(obtain_aligned_alloc, aligned_alloc(alignment, size))
OBTAIN(obtain_valloc, valloc(size))
OBTAIN(obtain_pvalloc, pvalloc(size))
OBTAIN(obtain_new, ::operator new(size))
OBTAIN(obtain_new_nothrow, ::operator new(size, std::nothrow))
OBTAIN(obtain_new_array, ::operator new[](size))
OBTAIN(obtain_new_array_nothrow, ::operator new[](size, std::nothrow))
OBTAIN(obtain_new_aligned, ::operator new(size, std_alignment))
OBTAIN(obtain_new_aligned_nothrow, ::operator new(size, std_alignment, std::nothrow))
OBTAIN(obtain_new_array_aligned, ::operator new[](size, std_alignment))
OBTAIN(obtain_new_array_aligned_nothrow, ::operator new[](size, std_alignment, std::nothrow))

extern "C" const char __start_obtain_posix_memalign[];
extern "C" const char __stop_obtain_posix_memalign[];
[[gnu::noinline, gnu::section("obtain_posix_memalign")]] inline void* obtain_posix_memalign(std::size_t size)
{
    void* block = nullptr;
    const int error = posix_memalign(&block, alignment, size);
    return opaque(error == 0 ? block : nullptr);
}

RELEASE(release_free, free(block))
RELEASE(release_free_sized, free_sized_now(block, size))
RELEASE(release_free_aligned_sized, free_aligned_sized_now(block, alignment, size))
RELEASE(release_delete, ::operator delete(block))
RELEASE(release_delete_sized, ::operator delete(block, size))
RELEASE(release_delete_nothrow, ::operator delete(block, std::nothrow))
RELEASE(release_delete_aligned, ::operator delete(block, std_alignment))
RELEASE(release_delete_sized_aligned, ::operator delete(block, size, std_alignment))
RELEASE(release_delete_aligned_nothrow, ::operator delete(block, std_alignment, std::nothrow))
RELEASE(release_delete_array, ::operator delete[](block))
RELEASE(release_delete_array_sized, ::operator delete[](block, size))
RELEASE(release_delete_array_nothrow, ::operator delete[](block, std::nothrow))
RELEASE(release_delete_array_aligned, ::operator delete[](block, std_alignment))
RELEASE(release_delete_array_sized_aligned, ::operator delete[](block, size, std_alignment))
RELEASE(release_delete_array_aligned_nothrow, ::operator delete[](block, std_alignment, std::nothrow))
RELEASE(release_realloc, block = realloc(block, size == 0 ? 1 : size))

struct Code {
    const char* begin;
    const char* end;
    [[nodiscard]] bool holds_return_address(std::uintptr_t address) const noexcept
    {
        return address > reinterpret_cast<std::uintptr_t>(begin) && address <= reinterpret_cast<std::uintptr_t>(end);
    }
};

struct Obtain {
    const char* name;
    void* (*call)(std::size_t size);
    Code code;
    heapmark::Api api;
    Family family;
    std::size_t alignment;
};

struct Release {
    const char* name;
    void (*call)(void* block, std::size_t size);
    Code code;
    const char* released_by;
    Family family;
    bool states_size;
    bool states_alignment;
};

#define HERE(name)                                                                                                     \
#name, name, { __start_##name, __stop_##name }

inline constexpr std::size_t least_alignment = 16;
inline constexpr std::size_t page = 4096;
inline const Obtain obtains[] = {
    {HERE(obtain_malloc), heapmark::Api::malloc, Family::c, least_alignment},
    {HERE(obtain_calloc), heapmark::Api::calloc, Family::c, least_alignment},
    {HERE(obtain_calloc_bytes), heapmark::Api::calloc, Family::c, least_alignment},
    {HERE(obtain_realloc), heapmark::Api::realloc, Family::c, least_alignment},
    {HERE(obtain_reallocarray), heapmark::Api::reallocarray, Family::c, least_alignment},
    {HERE(obtain_memalign), heapmark::Api::memalign, Family::c, alignment},
    {HERE(obtain_posix_memalign), heapmark::Api::posix_memalign, Family::c, alignment},
    {HERE(obtain_aligned_alloc), heapmark::Api::aligned_alloc, Family::c, alignment},
    {HERE(obtain_valloc), heapmark::Api::valloc, Family::c, page},
    {HERE(obtain_pvalloc), heapmark::Api::pvalloc, Family::c, page},
    {HERE(obtain_new), heapmark::Api::operator_new, Family::single, least_alignment},
    {HERE(obtain_new_nothrow), heapmark::Api::operator_new, Family::single, least_alignment},
    {HERE(obtain_new_array), heapmark::Api::operator_new_array, Family::array, least_alignment},
    {HERE(obtain_new_array_nothrow), heapmark::Api::operator_new_array, Family::array, least_alignment},
    {HERE(obtain_new_aligned), heapmark::Api::operator_new_aligned, Family::aligned_single, alignment},
    {HERE(obtain_new_aligned_nothrow), heapmark::Api::operator_new_aligned, Family::aligned_single, alignment},
    {HERE(obtain_new_array_aligned), heapmark::Api::operator_new_array_aligned, Family::aligned_array, alignment},
    {HERE(obtain_new_array_aligned_nothrow), heapmark::Api::operator_new_array_aligned, Family::aligned_array,
     alignment},
};

inline const Release releases[] = {
    {HERE(release_free), "free", Family::c, false, false},
    {HERE(release_free_sized), "free_sized", Family::c, true, false},
    {HERE(release_free_aligned_sized), "free_aligned_sized", Family::c, true, true},
    {HERE(release_delete), "delete", Family::single, false, false},
    {HERE(release_delete_sized), "delete", Family::single, true, false},
    {HERE(release_delete_nothrow), "delete", Family::single, false, false},
    {HERE(release_delete_aligned), "delete", Family::aligned_single, false, true},
    {HERE(release_delete_sized_aligned), "delete", Family::aligned_single, true, true},
    {HERE(release_delete_aligned_nothrow), "delete", Family::aligned_single, false, true},
    {HERE(release_delete_array), "delete[]", Family::array, false, false},
    {HERE(release_delete_array_sized), "delete[]", Family::array, true, false},
    {HERE(release_delete_array_nothrow), "delete[]", Family::array, false, false},
    {HERE(release_delete_array_aligned), "delete[]", Family::aligned_array, false, true},
    {HERE(release_delete_array_sized_aligned), "delete[]", Family::aligned_array, true, true},
    {HERE(release_delete_array_aligned_nothrow), "delete[]", Family::aligned_array, false, true},
};

/// free_sized is for malloc, calloc and realloc; free_aligned_sized for aligned_alloc (C23 7.24.3.4 and .5). Some pairs
/// of the C family are wrong by the letter and harmless: those are neither expected nor forbidden to be faults.
enum class Pair { right, wrong, unsettled };

inline Pair judge(const Obtain& obtain, const Release& release) noexcept
{
    if (obtain.family != release.family) return Pair::wrong;
    if (obtain.family != Family::c || !release.states_size) return Pair::right;
    const bool plain = obtain.alignment == least_alignment;
    if (!release.states_alignment) return plain ? Pair::right : Pair::unsettled;
    if (plain) return Pair::wrong;
    return obtain.api == heapmark::Api::aligned_alloc ? Pair::right : Pair::unsettled;
}

} // namespace doors
