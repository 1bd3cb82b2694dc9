// SPDX-License-Identifier: BSL-1.0
// Every replaceable operator new and delete ([new.delete]). All definitions are weak, so that a program that replaces
// some of them itself still links; the forms that the standard defines in terms of those then call the program's.
#include "interpose/anchors.hpp"
#include "interpose/hooks.hpp"
#include "interpose/replaced_new.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

using namespace heapmark;
using namespace heapmark::interpose;

namespace heapmark::interpose {

const char new_anchor = 0;

} // namespace heapmark::interpose

namespace {

using record::Kind;
using std::align_val_t;
using std::nothrow_t;
using std::size_t;

constexpr Door single_door{Api::operator_new, Kind::new_single};
constexpr Door array_door{Api::operator_new_array, Kind::new_array};
constexpr Door aligned_single_door{Api::operator_new_aligned, Kind::new_aligned};
constexpr Door aligned_array_door{Api::operator_new_array_aligned, Kind::new_array_aligned};

constexpr Exit single_exit{"delete", Kind::new_single};
constexpr Exit array_exit{"delete[]", Kind::new_array};
constexpr Exit aligned_single_exit{"delete", Kind::new_aligned};
constexpr Exit aligned_array_exit{"delete[]", Kind::new_array_aligned};

inline void* obtain(size_t size) noexcept { return underlying.malloc(padded(size)); }

inline void* obtain(size_t size, align_val_t alignment) noexcept
{
    return underlying.memalign(static_cast<size_t>(alignment), padded(size));
}

inline Door aligned_to(align_val_t alignment, Door door) noexcept
{
    door.alignment_log2 = static_cast<std::uint8_t>(std::countr_zero(static_cast<size_t>(alignment)));
    return door;
}

/// What an aligned form that failed passes on: GCC 12's own ones round the size up to the alignment, and past the end
/// of the numbers. No allocator has more than half of them.
[[maybe_unused]] inline size_t unwrapped(size_t size) noexcept { return std::min(size, size_t{PTRDIFF_MAX}); }

inline size_t number(align_val_t alignment) noexcept { return static_cast<size_t>(alignment); }

} // namespace

// A base form is a definition under a name of its own, of which the operator is a weak alias: comparing the two tells
// whether the program replaced the operator. In what follows, `block` is null only where memory ran out.
// All are in a section of their own: hooks.cpp has to know them where they pass a request on.
#define HEAPMARK_HIDDEN extern "C" __attribute__((visibility("hidden"), section("heapmark_operators")))
#define HEAPMARK_REPLACEABLE HEAPMARK_EXPORT __attribute__((weak, section("heapmark_operators")))
#define HEAPMARK_ALIAS(name) HEAPMARK_EXPORT __attribute__((weak, alias(name)))

// ---------------------------------------------------------------- new

HEAPMARK_HIDDEN void* heapmark_new(size_t size)
{
    void* block = obtain(size);
    if (block == nullptr) [[unlikely]]
        block = HEAPMARK_FAILED("_Znwm", void*(size_t), (size),
                                or_throw(retry_with_handlers([=] { return obtain(size); })));
    return born(block, size, single_door, HEAPMARK_FRAME());
}
HEAPMARK_ALIAS("heapmark_new") void* operator new(size_t size);

HEAPMARK_REPLACEABLE void* operator new(size_t size, [[maybe_unused]] const nothrow_t& tag) noexcept
{
    if (replaced(BaseForm::new_single)) [[unlikely]]
        return HEAPMARK_DERIVED("_ZnwmRKSt9nothrow_t", void*(size_t, const nothrow_t&), (size, tag),
                                or_null([=] { return ::operator new(size); }));
    void* block = obtain(size);
    if (block == nullptr) [[unlikely]]
        block = HEAPMARK_FAILED("_ZnwmRKSt9nothrow_t", void*(size_t, const nothrow_t&), (size, tag),
                                or_null([=] { return retry_with_handlers([=] { return obtain(size); }); }));
    return born(block, size, single_door, HEAPMARK_FRAME());
}

HEAPMARK_HIDDEN void* heapmark_new_array(size_t size)
{
    if (replaced(BaseForm::new_single)) [[unlikely]]
        return HEAPMARK_DERIVED("_Znam", void*(size_t), (size), ::operator new(size));
    void* block = obtain(size);
    if (block == nullptr) [[unlikely]]
        block = HEAPMARK_FAILED("_Znam", void*(size_t), (size),
                                or_throw(retry_with_handlers([=] { return obtain(size); })));
    return born(block, size, array_door, HEAPMARK_FRAME());
}
HEAPMARK_ALIAS("heapmark_new_array") void* operator new[](size_t size);

HEAPMARK_REPLACEABLE void* operator new[](size_t size, [[maybe_unused]] const nothrow_t& tag) noexcept
{
    if (replaced(BaseForm::new_single) || replaced(BaseForm::new_array)) [[unlikely]]
        return HEAPMARK_DERIVED("_ZnamRKSt9nothrow_t", void*(size_t, const nothrow_t&), (size, tag),
                                or_null([=] { return ::operator new[](size); }));
    void* block = obtain(size);
    if (block == nullptr) [[unlikely]]
        block = HEAPMARK_FAILED("_ZnamRKSt9nothrow_t", void*(size_t, const nothrow_t&), (size, tag),
                                or_null([=] { return retry_with_handlers([=] { return obtain(size); }); }));
    return born(block, size, array_door, HEAPMARK_FRAME());
}

HEAPMARK_HIDDEN void* heapmark_new_aligned(size_t size, align_val_t alignment)
{
    void* block = obtain(size, alignment);
    if (block == nullptr) [[unlikely]]
        block = HEAPMARK_FAILED("_ZnwmSt11align_val_t", void*(size_t, align_val_t), (unwrapped(size), alignment),
                                or_throw(retry_with_handlers([=] { return obtain(size, alignment); })));
    return born(block, size, aligned_to(alignment, aligned_single_door), HEAPMARK_FRAME());
}
HEAPMARK_ALIAS("heapmark_new_aligned") void* operator new(size_t size, align_val_t alignment);

HEAPMARK_REPLACEABLE void* operator new(size_t size, align_val_t alignment,
                                        [[maybe_unused]] const nothrow_t& tag) noexcept
{
    if (replaced(BaseForm::new_aligned)) [[unlikely]]
        return HEAPMARK_DERIVED("_ZnwmSt11align_val_tRKSt9nothrow_t", void*(size_t, align_val_t, const nothrow_t&),
                                (size, alignment, tag), or_null([=] { return ::operator new(size, alignment); }));
    void* block = obtain(size, alignment);
    if (block == nullptr) [[unlikely]]
        block = HEAPMARK_FAILED("_ZnwmSt11align_val_tRKSt9nothrow_t", void*(size_t, align_val_t, const nothrow_t&),
                                (unwrapped(size), alignment, tag),
                                or_null([=] { return retry_with_handlers([=] { return obtain(size, alignment); }); }));
    return born(block, size, aligned_to(alignment, aligned_single_door), HEAPMARK_FRAME());
}

HEAPMARK_HIDDEN void* heapmark_new_array_aligned(size_t size, align_val_t alignment)
{
    if (replaced(BaseForm::new_aligned)) [[unlikely]]
        return HEAPMARK_DERIVED("_ZnamSt11align_val_t", void*(size_t, align_val_t), (size, alignment),
                                ::operator new(size, alignment));
    void* block = obtain(size, alignment);
    if (block == nullptr) [[unlikely]]
        block = HEAPMARK_FAILED("_ZnamSt11align_val_t", void*(size_t, align_val_t), (unwrapped(size), alignment),
                                or_throw(retry_with_handlers([=] { return obtain(size, alignment); })));
    return born(block, size, aligned_to(alignment, aligned_array_door), HEAPMARK_FRAME());
}
HEAPMARK_ALIAS("heapmark_new_array_aligned") void* operator new[](size_t size, align_val_t alignment);

HEAPMARK_REPLACEABLE void* operator new[](size_t size, align_val_t alignment,
                                          [[maybe_unused]] const nothrow_t& tag) noexcept
{
    if (replaced(BaseForm::new_aligned) || replaced(BaseForm::new_array_aligned)) [[unlikely]]
        return HEAPMARK_DERIVED("_ZnamSt11align_val_tRKSt9nothrow_t", void*(size_t, align_val_t, const nothrow_t&),
                                (size, alignment, tag), or_null([=] { return ::operator new[](size, alignment); }));
    void* block = obtain(size, alignment);
    if (block == nullptr) [[unlikely]]
        block = HEAPMARK_FAILED("_ZnamSt11align_val_tRKSt9nothrow_t", void*(size_t, align_val_t, const nothrow_t&),
                                (unwrapped(size), alignment, tag),
                                or_null([=] { return retry_with_handlers([=] { return obtain(size, alignment); }); }));
    return born(block, size, aligned_to(alignment, aligned_array_door), HEAPMARK_FRAME());
}

// ---------------------------------------------------------------- delete

HEAPMARK_HIDDEN void heapmark_delete(void* block) noexcept { release<single_exit>(block, {}, HEAPMARK_FRAME()); }
HEAPMARK_ALIAS("heapmark_delete") void operator delete(void* block) noexcept;

HEAPMARK_REPLACEABLE void operator delete(void* block, size_t size) noexcept
{
    if (replaced(BaseForm::delete_single)) [[unlikely]]
        return HEAPMARK_DERIVED("_ZdlPvm", void(void*, size_t), (block, size), ::operator delete(block));
    release<single_exit>(block, {size}, HEAPMARK_FRAME());
}

HEAPMARK_REPLACEABLE void operator delete(void* block, [[maybe_unused]] const nothrow_t& tag) noexcept
{
    if (replaced(BaseForm::delete_single)) [[unlikely]]
        return HEAPMARK_DERIVED("_ZdlPvRKSt9nothrow_t", void(void*, const nothrow_t&), (block, tag),
                                ::operator delete(block));
    release<single_exit>(block, {}, HEAPMARK_FRAME());
}

HEAPMARK_HIDDEN void heapmark_delete_array(void* block) noexcept
{
    if (replaced(BaseForm::delete_single)) [[unlikely]]
        return HEAPMARK_DERIVED("_ZdaPv", void(void*), (block), ::operator delete(block));
    release<array_exit>(block, {}, HEAPMARK_FRAME());
}
HEAPMARK_ALIAS("heapmark_delete_array") void operator delete[](void* block) noexcept;

HEAPMARK_REPLACEABLE void operator delete[](void* block, size_t size) noexcept
{
    if (replaced(BaseForm::delete_single) || replaced(BaseForm::delete_array)) [[unlikely]]
        return HEAPMARK_DERIVED("_ZdaPvm", void(void*, size_t), (block, size), ::operator delete[](block));
    release<array_exit>(block, {size}, HEAPMARK_FRAME());
}

HEAPMARK_REPLACEABLE void operator delete[](void* block, [[maybe_unused]] const nothrow_t& tag) noexcept
{
    if (replaced(BaseForm::delete_single) || replaced(BaseForm::delete_array)) [[unlikely]]
        return HEAPMARK_DERIVED("_ZdaPvRKSt9nothrow_t", void(void*, const nothrow_t&), (block, tag),
                                ::operator delete[](block));
    release<array_exit>(block, {}, HEAPMARK_FRAME());
}

HEAPMARK_HIDDEN void heapmark_delete_aligned(void* block, align_val_t alignment) noexcept
{
    release<aligned_single_exit>(block, {unstated, number(alignment)}, HEAPMARK_FRAME());
}
HEAPMARK_ALIAS("heapmark_delete_aligned") void operator delete(void* block, align_val_t alignment) noexcept;

HEAPMARK_REPLACEABLE void operator delete(void* block, size_t size, align_val_t alignment) noexcept
{
    if (replaced(BaseForm::delete_aligned)) [[unlikely]]
        return HEAPMARK_DERIVED("_ZdlPvmSt11align_val_t", void(void*, size_t, align_val_t), (block, size, alignment),
                                ::operator delete(block, alignment));
    release<aligned_single_exit>(block, {size, number(alignment)}, HEAPMARK_FRAME());
}

HEAPMARK_REPLACEABLE void operator delete(void* block, align_val_t alignment,
                                          [[maybe_unused]] const nothrow_t& tag) noexcept
{
    if (replaced(BaseForm::delete_aligned)) [[unlikely]]
        return HEAPMARK_DERIVED("_ZdlPvSt11align_val_tRKSt9nothrow_t", void(void*, align_val_t, const nothrow_t&),
                                (block, alignment, tag), ::operator delete(block, alignment));
    release<aligned_single_exit>(block, {unstated, number(alignment)}, HEAPMARK_FRAME());
}

HEAPMARK_HIDDEN void heapmark_delete_array_aligned(void* block, align_val_t alignment) noexcept
{
    if (replaced(BaseForm::delete_aligned)) [[unlikely]]
        return HEAPMARK_DERIVED("_ZdaPvSt11align_val_t", void(void*, align_val_t), (block, alignment),
                                ::operator delete(block, alignment));
    release<aligned_array_exit>(block, {unstated, number(alignment)}, HEAPMARK_FRAME());
}
HEAPMARK_ALIAS("heapmark_delete_array_aligned") void operator delete[](void* block, align_val_t alignment) noexcept;

HEAPMARK_REPLACEABLE void operator delete[](void* block, size_t size, align_val_t alignment) noexcept
{
    if (replaced(BaseForm::delete_aligned) || replaced(BaseForm::delete_array_aligned)) [[unlikely]]
        return HEAPMARK_DERIVED("_ZdaPvmSt11align_val_t", void(void*, size_t, align_val_t), (block, size, alignment),
                                ::operator delete[](block, alignment));
    release<aligned_array_exit>(block, {size, number(alignment)}, HEAPMARK_FRAME());
}

HEAPMARK_REPLACEABLE void operator delete[](void* block, align_val_t alignment,
                                            [[maybe_unused]] const nothrow_t& tag) noexcept
{
    if (replaced(BaseForm::delete_aligned) || replaced(BaseForm::delete_array_aligned)) [[unlikely]]
        return HEAPMARK_DERIVED("_ZdaPvSt11align_val_tRKSt9nothrow_t", void(void*, align_val_t, const nothrow_t&),
                                (block, alignment, tag), ::operator delete[](block, alignment));
    release<aligned_array_exit>(block, {unstated, number(alignment)}, HEAPMARK_FRAME());
}
