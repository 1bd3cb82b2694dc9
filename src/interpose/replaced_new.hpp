// SPDX-License-Identifier: BSL-1.0
// What operator new and delete do where heapmark's own definition is not the whole story: the program replaced a form
// that the standard defines ours in terms of, or the allocator is out of memory.
//
// Linked into the program, heapmark follows the standard itself. The preload library leaves both to the definition
// that comes after it, the C++ library's: only that one knows the program's new-handler and throws exceptions that
// the program can catch, for the preload library carries a C++ library of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace heapmark::interpose {

/// The forms that the others are defined in terms of ([new.delete]).
enum class BaseForm : std::uint8_t {
    new_single,
    new_array,
    new_aligned,
    new_array_aligned,
    delete_single,
    delete_array,
    delete_aligned,
    delete_array_aligned,
};

/// What the standard says of nothrow forms: the ordinary form, with its exception turned into nullptr.
template <class Allocate>
void* or_null(Allocate allocate) noexcept
{
    try {
        return allocate();
    } catch (...) {
        return nullptr;
    }
}

} // namespace heapmark::interpose

#ifdef HEAPMARK_PRELOAD

namespace heapmark::interpose {

/// Whether another module's definition is found before ours.
bool replaced(BaseForm form) noexcept;

/// The definition of the mangled name after ours, or nullptr. A program that carries the C++ library inside has only
/// the forms that it uses itself, and none of them comes after ours.
void* operator_below(const char* mangled) noexcept;

/// The same; ends the process when there is none.
void* next_operator(const char* mangled) noexcept;

template <class Function>
Function* next_definition(const char* mangled) noexcept
{
    return reinterpret_cast<Function*>(next_operator(mangled));
}

} // namespace heapmark::interpose

/// A derived form, where its base is replaced. `expression` calls the base, which is the program's.
#define HEAPMARK_DERIVED(mangled, function_type, arguments, expression)                                                \
    (operator_below(mangled) != nullptr ? next_definition<function_type>(mangled) arguments : (expression))
/// An allocation that failed.
#define HEAPMARK_FAILED(mangled, function_type, arguments, expression) next_definition<function_type>(mangled) arguments

#else

extern "C" {
// heapmark's definitions, under names that nobody replaces.
void* heapmark_new(std::size_t);
void* heapmark_new_array(std::size_t);
void* heapmark_new_aligned(std::size_t, std::align_val_t);
void* heapmark_new_array_aligned(std::size_t, std::align_val_t);
void heapmark_delete(void*) noexcept;
void heapmark_delete_array(void*) noexcept;
void heapmark_delete_aligned(void*, std::align_val_t) noexcept;
void heapmark_delete_array_aligned(void*, std::align_val_t) noexcept;
}

// Declared weak before their addresses are taken, or compilers would settle the question themselves.
#define HEAPMARK_WEAK __attribute__((weak, visibility("default")))
HEAPMARK_WEAK void* operator new(std::size_t);
HEAPMARK_WEAK void* operator new[](std::size_t);
HEAPMARK_WEAK void* operator new(std::size_t, std::align_val_t);
HEAPMARK_WEAK void* operator new[](std::size_t, std::align_val_t);
HEAPMARK_WEAK void operator delete(void*) noexcept;
HEAPMARK_WEAK void operator delete[](void*) noexcept;
HEAPMARK_WEAK void operator delete(void*, std::align_val_t) noexcept;
HEAPMARK_WEAK void operator delete[](void*, std::align_val_t) noexcept;
#undef HEAPMARK_WEAK

namespace heapmark::interpose {

/// Whether the linker chose the program's definition over our weak one.
inline bool replaced(BaseForm form) noexcept
{
    switch (form) {
    case BaseForm::new_single: return static_cast<void* (*)(std::size_t)>(&::operator new) != &heapmark_new;
    case BaseForm::new_array: return static_cast<void* (*)(std::size_t)>(&::operator new[]) != &heapmark_new_array;
    case BaseForm::new_aligned:
        return static_cast<void* (*)(std::size_t, std::align_val_t)>(&::operator new) != &heapmark_new_aligned;
    case BaseForm::new_array_aligned:
        return static_cast<void* (*)(std::size_t, std::align_val_t)>(&::operator new[]) != &heapmark_new_array_aligned;
    case BaseForm::delete_single: return static_cast<void (*)(void*) noexcept>(&::operator delete) != &heapmark_delete;
    case BaseForm::delete_array:
        return static_cast<void (*)(void*) noexcept>(&::operator delete[]) != &heapmark_delete_array;
    case BaseForm::delete_aligned:
        return static_cast<void (*)(void*, std::align_val_t) noexcept>(&::operator delete) != &heapmark_delete_aligned;
    case BaseForm::delete_array_aligned:
        return static_cast<void (*)(void*, std::align_val_t) noexcept>(&::operator delete[]) !=
               &heapmark_delete_array_aligned;
    }
    return false;
}

/// [new.delete.single] 4: while there is a new-handler, call it and try again; nullptr when there is none left.
template <class Allocate>
void* retry_with_handlers(Allocate allocate)
{
    while (const std::new_handler handler = std::get_new_handler()) {
        handler();
        if (void* block = allocate()) return block;
    }
    return nullptr;
}

[[noreturn, gnu::cold]] inline void throw_bad_alloc() { throw std::bad_alloc(); }

inline void* or_throw(void* block)
{
    if (block == nullptr) throw_bad_alloc();
    return block;
}

} // namespace heapmark::interpose

#define HEAPMARK_DERIVED(mangled, function_type, arguments, expression) (expression)
#define HEAPMARK_FAILED(mangled, function_type, arguments, expression) (expression)

#endif
