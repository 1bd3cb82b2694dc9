// SPDX-License-Identifier: BSL-1.0
// The C allocator: definitions that forward to the allocator underneath and record what it did.
#include "interpose/anchors.hpp"
#include "interpose/hooks.hpp"

#include <bit>
#include <cerrno>
#include <unistd.h>

using namespace heapmark;
using namespace heapmark::interpose;

namespace {

constexpr record::Kind c_family = record::Kind::malloc_family;
constexpr Exit free_exit{"free", c_family};
constexpr Exit free_sized_exit{"free_sized", c_family};
constexpr Exit free_aligned_sized_exit{"free_aligned_sized", c_family};

inline Door aligned_door(Api api, std::size_t alignment) noexcept
{
    // memalign takes any number and rounds it up to a power of two
    return {api, c_family, static_cast<std::uint8_t>(std::bit_width(alignment == 0 ? 0 : alignment - 1))};
}

inline std::size_t page_bytes() noexcept { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

} // namespace

extern "C" {

// What the interface library tells the linker to look for, so that this archive member, and through it the others,
// are linked into a program that itself never names malloc.
HEAPMARK_EXPORT extern const void* const heapmark_anchor[];
const void* const heapmark_anchor[] = {&new_anchor,
                                       &thread_anchor,
                                       &unload_anchor,
                                       &mappings_anchor,
                                       &process_anchor,
                                       &leave_anchor,
                                       &heapmark_exit_report_anchor};

HEAPMARK_EXPORT void* malloc(std::size_t size)
{
    return born(underlying.malloc(padded(size)), size, {Api::malloc, c_family}, HEAPMARK_FRAME());
}

HEAPMARK_EXPORT void free(void* block) { release<free_exit>(block, {}, HEAPMARK_FRAME()); }

HEAPMARK_EXPORT void* calloc(std::size_t count, std::size_t size)
{
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return nullptr;
    }
    return recorded(underlying.calloc(1, padded(bytes)), bytes, {Api::calloc, c_family}, HEAPMARK_FRAME());
}

HEAPMARK_EXPORT void* realloc(void* block, std::size_t size)
{
    if (block == nullptr)
        return born(underlying.malloc(padded(size)), size, {Api::realloc, c_family}, HEAPMARK_FRAME());
    return resize(block, size, Api::realloc, HEAPMARK_FRAME());
}

HEAPMARK_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t size)
{
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return nullptr;
    }
    if (block == nullptr)
        return born(underlying.malloc(padded(bytes)), bytes, {Api::reallocarray, c_family}, HEAPMARK_FRAME());
    return resize(block, bytes, Api::reallocarray, HEAPMARK_FRAME());
}

HEAPMARK_EXPORT void* memalign(std::size_t alignment, std::size_t size)
{
    return born(underlying.memalign(alignment, padded(size)), size, aligned_door(Api::memalign, alignment),
                HEAPMARK_FRAME());
}

HEAPMARK_EXPORT int posix_memalign(void** block, std::size_t alignment, std::size_t size)
{
    if (alignment % sizeof(void*) != 0 || !std::has_single_bit(alignment)) return EINVAL;
    const int saved_errno = errno; // POSIX: the error is returned, errno is not set
    void* made = underlying.memalign(alignment, padded(size));
    errno = saved_errno;
    if (made == nullptr) return ENOMEM;
    *block = born(made, size, aligned_door(Api::posix_memalign, alignment), HEAPMARK_FRAME());
    return 0;
}

HEAPMARK_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size)
{
    return born(underlying.aligned_alloc(alignment, padded(size)), size, aligned_door(Api::aligned_alloc, alignment),
                HEAPMARK_FRAME());
}

HEAPMARK_EXPORT void* valloc(std::size_t size)
{
    const std::size_t page = page_bytes();
    return born(underlying.memalign(page, padded(size)), size, aligned_door(Api::valloc, page), HEAPMARK_FRAME());
}

HEAPMARK_EXPORT void* pvalloc(std::size_t size)
{
    const std::size_t page = page_bytes();
    std::size_t bytes = 0;
    if (__builtin_add_overflow(size, page - 1, &bytes)) {
        errno = ENOMEM;
        return nullptr;
    }
    return born(underlying.memalign(page, bytes / page * page), size, aligned_door(Api::pvalloc, page),
                HEAPMARK_FRAME());
}

HEAPMARK_EXPORT std::size_t malloc_usable_size(void* block)
{
    return block == nullptr ? 0 : underlying.usable_size(block);
}

// C23 7.24.3.4 and 7.24.3.5.
HEAPMARK_EXPORT void free_sized(void* block, std::size_t size)
{
    release<free_sized_exit>(block, {size}, HEAPMARK_FRAME());
}

HEAPMARK_EXPORT void free_aligned_sized(void* block, std::size_t alignment, std::size_t size)
{
    release<free_aligned_sized_exit>(block, {size, alignment}, HEAPMARK_FRAME());
}

} // extern "C"
