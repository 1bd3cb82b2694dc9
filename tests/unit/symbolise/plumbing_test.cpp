// SPDX-License-Identifier: BSL-1.0
#include "symbolise/plumbing.hpp"

#include <doctest/doctest.h>

using heapmark::symbolise::is_plumbing;
using heapmark::symbolise::is_startup;

TEST_CASE("plumbing is the allocator, the C++ library, sanitizers and heapmark itself")
{
    CHECK(is_plumbing("malloc", "", "/lib/libc.so.6"));
    CHECK(is_plumbing("operator new(unsigned long)", "", "/bin/program"));
    CHECK(is_plumbing("operator new[](unsigned long, std::align_val_t)", "/src/mine.cpp", "/bin/program"));
    CHECK(is_plumbing("std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, unsigned long)",
                      "/usr/include/c++/12/bits/alloc_traits.h", "/bin/program"));
    CHECK(is_plumbing("void std::vector<int>::_M_realloc_insert<int>(int&&)", "", "/bin/program"));
    CHECK(is_plumbing("__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)", "", "/bin/program"));
    CHECK(is_plumbing("std::__1::vector<int>::push_back(int)", "/usr/lib/llvm-14/include/c++/v1/vector", ""));
    CHECK(is_plumbing("", "", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"));
    CHECK(
        is_plumbing("std::__1::basic_string<char>::__grow_by()", "/build/llvm/libcxx/src/string.cpp", "/bin/program"));
    CHECK(is_plumbing("__interceptor_malloc", "", ""));
    CHECK(is_plumbing("heapmark::Snapshot::append(heapmark::Block const&)", "", ""));
}

TEST_CASE("what the program or another library wrote is not plumbing")
{
    CHECK_FALSE(is_plumbing("greet()", "/home/ada/libcxx/greet.cpp", "/bin/program"));
    CHECK_FALSE(is_plumbing("main", "/src/main.cpp", "/bin/program"));
    CHECK_FALSE(is_plumbing("strdup", "", "/lib/libc.so.6"));
    CHECK_FALSE(is_plumbing("xmalloc", "", "/bin/program"));
    CHECK_FALSE(is_plumbing("Pool::malloc(unsigned long)", "/src/pool.cpp", "/bin/program"));
    CHECK_FALSE(is_plumbing("std::hash<Key>::operator()(Key const&) const", "/src/key.hpp", "/bin/program"));
    CHECK_FALSE(is_plumbing("load(std::vector<int>)", "", "/bin/program"));
    CHECK_FALSE(
        is_plumbing("boost::intrusive::list<Node>::push_back(Node&)", "/usr/include/boost/intrusive/list.hpp", ""));
    CHECK_FALSE(is_plumbing("", "", ""));
    CHECK_FALSE(is_plumbing("standard::f()", "", ""));
}

TEST_CASE("start-up is what runs below main and below a thread's function")
{
    CHECK(is_startup("_start", "/bin/program"));
    CHECK(is_startup("__libc_start_main_impl", "/lib/libc.so.6"));
    CHECK(is_startup("clone3", "/lib/libc.so.6"));
    CHECK(is_startup("", "/lib/x86_64-linux-gnu/libc.so.6"));
    CHECK_FALSE(is_startup("main", "/bin/program"));
    CHECK_FALSE(is_startup("", "/bin/program"));
    CHECK_FALSE(is_startup("qsort", "/lib/libc.so.6"));
}
