// SPDX-License-Identifier: BSL-1.0
#include "symbolise/short_name.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <cxxabi.h>
#include <map>
#include <memory>
#include <string>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <vector>

using heapmark::symbolise::short_function;
using heapmark::symbolise::short_type;

namespace {

template <class T>
std::string type_name()
{
    int status = 0;
    char* const text = abi::__cxa_demangle(typeid(T).name(), nullptr, nullptr, &status);
    const std::string name = text;
    std::free(text);
    return short_type(name, {1000, 1000});
}

struct Node {};
struct Comes_first {
    bool operator()(int a, int b) const { return a < b; }
};

} // namespace

#define LONG_STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

TEST_CASE("functions as a person would write them")
{
    const char* const rows[][2] = {
        {"main", "main"},
        {"", ""},
        {"f(int) [clone .isra.0]", "f(int)"},
        {"parse.part.0", "parse"},
        {"parse.constprop.0.isra.0", "parse"},
        {"_dl_open.so", "_dl_open.so"},
        {"Parser::load(" LONG_STRING " const&) const", "Parser::load(std::string const&) const"},
        {LONG_STRING "::_M_create(unsigned long&, unsigned long)",
         "std::string::_M_create(unsigned long&, unsigned long)"},
        {"void std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>(int const&)",
         "std::vector<int>::_M_realloc_insert<int const&>(int const&)"},
        {"f(std::basic_string_view<char, std::char_traits<char> >)", "f(std::string_view)"},
        {"f(std::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> >)", "f(std::wstring)"},
        {"f(std::basic_ostream<char, std::char_traits<char> >&)", "f(std::ostream&)"},
        {"f(std::__1::vector<int, std::__1::allocator<int> >)", "f(std::vector<int>)"},
        {"name[abi:cxx11](int)", "name(int)"},
        {"std::unique_ptr<Node, std::default_delete<Node> > make<Node>()", "make<Node>()"},
        {"(anonymous namespace)::f(int)", "(anonymous namespace)::f(int)"},
        {"operator new(unsigned long)", "operator new(unsigned long)"},
        {"std::ostream& operator<< <int>(std::ostream&, int)", "operator<< <int>(std::ostream&, int)"},
        {"X<(Kind)1>::operator->() const", "X<(Kind)1>::operator->() const"},
        {"X::operator bool() const", "X::operator bool() const"},
        {"decltype(auto) ns::get<0ul>(int (&)[3])", "ns::get<0ul>(int (&)[3])"},
        {"mine::allocator<int>::f(mine::vector<int, std::allocator<int> >)",
         "mine::allocator<int>::f(mine::vector<int, std::allocator<int>>)"},
    };
    for (const auto& row : rows) CHECK(short_function(row[0]) == std::string(row[1]));
}

TEST_CASE("lambdas are named after the function they are in")
{
    const char* const rows[][2] = {
        {"main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}(int)"},
        {"Parser::load(char const*)::{lambda(int)#2}::operator()(int) const", "Parser::load::{lambda#2}(int)"},
        {"Parser::load(char const*) const::{lambda(auto:1)#1}::operator()<int>(int) const",
         "Parser::load::{lambda#1}<int>(int)"},
        {"main::$_0::operator()() const", "main::{lambda#1}()"},
        {"f(std::vector<int, std::allocator<int> >)::{lambda()#1}::operator()() "
         "const::{lambda(int)#1}::operator()(int) const",
         "f::{lambda#1}::{lambda#1}(int)"},
        {"std::_Function_handler<void (), main::{lambda()#1}>::_M_invoke(std::_Any_data const&)",
         "std::_Function_handler<void (), main::{lambda#1}>::_M_invoke(std::_Any_data const&)"},
        {"X::operator()(int)", "X::operator()(int)"},
    };
    for (const auto& row : rows) CHECK(short_function(row[0]) == std::string(row[1]));
}

TEST_CASE("default template arguments go, others stay")
{
    CHECK(type_name<std::string>() == "std::string");
    CHECK(type_name<std::vector<std::string>>() == "std::vector<std::string>");
    CHECK(type_name<std::map<std::string, std::vector<int>>>() == "std::map<std::string, std::vector<int>>");
    CHECK(type_name<std::unordered_map<int, Node*>>() == "std::unordered_map<int, (anonymous namespace)::Node*>");
    CHECK(type_name<std::unordered_set<std::string>>() == "std::unordered_set<std::string>");
    CHECK(type_name<std::unique_ptr<Node>>() == "std::unique_ptr<(anonymous namespace)::Node>");
    CHECK(type_name<std::unique_ptr<Node, void (*)(Node*)>>() ==
          "std::unique_ptr<(anonymous namespace)::Node, void (*)((anonymous namespace)::Node*)>");
    CHECK(type_name<std::map<int, int, Comes_first>>() == "std::map<int, int, (anonymous namespace)::Comes_first>");
    CHECK(type_name<std::allocator<int>>() == "std::allocator<int>");
    CHECK(type_name<std::map<std::string, std::map<int, std::unique_ptr<int>>>>() ==
          "std::map<std::string, std::map<int, std::unique_ptr<int>>>");
}

TEST_CASE("functions of the C library have the names that programs use")
{
    using heapmark::symbolise::public_c_name;
    constexpr const char* libc = "/lib/x86_64-linux-gnu/libc.so.6";
    CHECK(public_c_name("__GI___strdup", libc) == "strdup");
    CHECK(public_c_name("__strdup", libc) == "strdup");
    CHECK(public_c_name("__GI_fopen", libc) == "fopen");
    CHECK(public_c_name("__GI___libc_malloc", libc) == "malloc");
    CHECK(public_c_name("qsort", libc) == "qsort");
    CHECK(public_c_name("__libc_start_main_impl", libc) == "__libc_start_main_impl");
    CHECK(public_c_name("__mine", "/bin/program") == "__mine");
    CHECK(public_c_name("", libc) == "");
}

TEST_CASE("what is too long is cut")
{
    CHECK(short_function("f<AVeryLongArgumentName, AnotherVeryLongArgumentName>(int)") == "f<...>(int)");
    CHECK(short_function("f(AVeryLongArgumentName, AnotherVeryLongArgumentName, AThirdOneOfThatKind)") == "f(...)");
    CHECK(short_function("f(std::vector<AVeryLongArgumentName, AnotherVeryLongArgumentName>&)") ==
          "f(std::vector<...>&)");
}

TEST_CASE("broken text is taken without harm")
{
    for (const char* text : {"<", ">", "f<", "f(", "f<a,", "operator", "operator<", "{lambda", "::$_", "}::operator()",
                             "f(std::basic_string<", "std::vector<>", "a.b.c", ".isra.0"})
        CHECK(short_function(text).size() <= std::string(text).size() + 12);
}
