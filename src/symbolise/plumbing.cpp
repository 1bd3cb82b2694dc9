// SPDX-License-Identifier: BSL-1.0
#include "symbolise/plumbing.hpp"

#include "analyse/signature.hpp"

#include <algorithm>
#include <array>

namespace heapmark::symbolise {

namespace {

template <std::size_t N>
bool is_one_of(std::string_view text, const std::array<std::string_view, N>& list) noexcept
{
    return std::find(list.begin(), list.end(), text) != list.end();
}

template <std::size_t N>
bool starts_with_one_of(std::string_view text, const std::array<std::string_view, N>& list) noexcept
{
    return std::any_of(list.begin(), list.end(), [&](std::string_view start) { return text.starts_with(start); });
}

std::string_view base_name(std::string_view path) noexcept { return path.substr(path.rfind('/') + 1); }

/// libstdc++ and libc++, as header, as source when the library itself has debug information, or as library.
bool in_cxx_library(std::string_view file, std::string_view module) noexcept
{
    constexpr std::array<std::string_view, 3> libraries{"libstdc++.so", "libc++.so", "libc++abi.so"};
    for (const std::string_view part :
         {"/include/c++/", "/libstdc++-v3/", "/libcxx/src/", "/libcxx/include/", "/libcxxabi/src/"})
        if (file.find(part) != std::string_view::npos) return true;
    return starts_with_one_of(base_name(module), libraries);
}

} // namespace

bool is_plumbing(std::string_view function, std::string_view file, std::string_view module)
{
    constexpr std::array<std::string_view, 13> allocators{
        "malloc", "calloc",  "realloc",       "reallocarray",  "memalign",       "posix_memalign", "aligned_alloc",
        "valloc", "pvalloc", "__libc_malloc", "__libc_calloc", "__libc_realloc", "__libc_memalign"};
    constexpr std::array<std::string_view, 8> ours{"heapmark::", "operator new", "__interceptor_", "___interceptor_",
                                                   "__asan::",   "__lsan::",     "__sanitizer::",  "__tsan::"};
    constexpr std::array<std::string_view, 4> library_namespaces{"std::", "__gnu_cxx::", "__cxxabiv1::", "__cxa_"};

    if (in_cxx_library(file, module)) return true;
    const std::string_view name = analyse::split_signature(function).name;
    if (is_one_of(name, allocators) || starts_with_one_of(name, ours)) return true;
    // With a file we know better than by the namespace: it was none of the library's.
    return file.empty() && starts_with_one_of(name, library_namespaces);
}

bool is_startup(std::string_view function, std::string_view module)
{
    constexpr std::array<std::string_view, 11> names{"_start",
                                                     "__libc_start_main",
                                                     "__libc_start_call_main",
                                                     "__libc_start_main_impl",
                                                     "__libc_start_main_alias_1",
                                                     "__libc_start_main_alias_2",
                                                     "start_thread",
                                                     "__clone",
                                                     "clone",
                                                     "clone3",
                                                     "__clone3"};
    constexpr std::array<std::string_view, 3> loaders{"ld-linux", "libc.so", "libpthread.so"};
    if (is_one_of(function, names)) return true;
    return analyse::split_signature(function).name == "execute_native_thread_routine" ||
           (function.empty() && starts_with_one_of(base_name(module), loaders));
}

} // namespace heapmark::symbolise
