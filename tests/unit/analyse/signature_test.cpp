// SPDX-License-Identifier: BSL-1.0
#include "analyse/signature.hpp"

#include <doctest/doctest.h>

using namespace heapmark::analyse;

TEST_CASE("a demangled function is cut into return type, name, parameters and qualifiers")
{
    struct Row {
        const char* function;
        const char* returns;
        const char* name;
        const char* parameters;
        const char* qualifiers;
    };
    const Row rows[] = {
        {"main", "", "main", "", ""},
        {"f(int)", "", "f", "(int)", ""},
        {"void ns::f<int>(int) const", "void", "ns::f<int>", "(int)", " const"},
        {"f(int) [clone .cold]", "", "f", "(int)", ""},
        {"(anonymous namespace)::f(int)", "", "(anonymous namespace)::f", "(int)", ""},
        {"X::operator()(int) const", "", "X::operator()", "(int)", " const"},
        {"X::operator char const*() const", "", "X::operator char const*", "()", " const"},
        {"operator new(unsigned long)", "", "operator new", "(unsigned long)", ""},
        {"operator delete[](void*)", "", "operator delete[]", "(void*)", ""},
        {"std::ostream& operator<< <int>(std::ostream&, int)", "std::ostream&", "operator<< <int>",
         "(std::ostream&, int)", ""},
        {"X::operator<(X const&) const", "", "X::operator<", "(X const&)", " const"},
        {"decltype(auto) ns::get<0ul>(int (&)[3])", "decltype(auto)", "ns::get<0ul>", "(int (&)[3])", ""},
        {"f(int) const::{lambda(int)#1}::operator()(int) const", "", "f(int) const::{lambda(int)#1}::operator()",
         "(int)", " const"},
        {"std::function<void (int)>::operator()(int) const", "", "std::function<void (int)>::operator()", "(int)",
         " const"},
        {"X::f() &&", "", "X::f", "()", " &&"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.function);
        const Signature parts = split_signature(row.function);
        CHECK(parts.returns == row.returns);
        CHECK(parts.name == row.name);
        CHECK(parts.parameters == row.parameters);
        CHECK(parts.qualifiers == row.qualifiers);
    }
}

TEST_CASE("broken text is taken without harm")
{
    for (const char* text : {"", "(", ")", "<", ">", "f(", "f<", "operator", "a<b>>c(", "{", "::", " ", "f)(", "}{"}) {
        CAPTURE(text);
        const Signature parts = split_signature(text);
        CHECK(parts.name.size() <= std::string_view(text).size());
        CHECK_FALSE(means_function("x", text));
    }
}

TEST_CASE("a function may be named with or without scope, arguments and template arguments")
{
    const char* const function = "ns::Parser<int, char>::load(char const*) const";
    for (const char* wanted : {"load", "Parser::load", "ns::Parser::load", "Parser<int, char>::load",
                               "ns::Parser<int,char>::load(char const*)", "load(char const*)", "load( char const * )"})
        CHECK_MESSAGE(means_function(wanted, function), wanted);
    for (const char* wanted :
         {"", "oad", "Parser", "Parser<int>::load", "load(int)", "arser::load", "other::load", "load::", "ns::load"})
        CHECK_FALSE_MESSAGE(means_function(wanted, function), wanted);

    CHECK(means_function("operator()", "X::operator()(int)"));
    CHECK(means_function("operator<<", "std::ostream& operator<< <int>(std::ostream&, int)"));
    CHECK_FALSE(means_function("operator<", "std::ostream& operator<< <int>(std::ostream&, int)"));
    CHECK(means_function("make", "int* ns::make<int>(int)"));
    CHECK(means_function("f", "(anonymous namespace)::f()"));
    CHECK(means_function("name", "name[abi:cxx11]()"));
    CHECK(means_function("strdup", "strdup"));
    CHECK_FALSE(means_function("int", "int f<int>(int)"));
}

TEST_CASE("files are named by path or by its end at a slash")
{
    CHECK(means_file("/src/a/parser.cpp", "/src/a/parser.cpp"));
    CHECK(means_file("a/parser.cpp", "/src/a/parser.cpp"));
    CHECK(means_file("parser.cpp", "/src/a/parser.cpp"));
    CHECK_FALSE(means_file("arser.cpp", "/src/a/parser.cpp"));
    CHECK_FALSE(means_file("", "/src/a/parser.cpp"));
    CHECK_FALSE(means_file("parser.cpp", ""));
}

TEST_CASE("modules are named also by their file name up to .so")
{
    CHECK(means_module("libxml2", "/usr/lib/libxml2.so.2"));
    CHECK(means_module("libxml2.so.2", "/usr/lib/libxml2.so.2"));
    CHECK(means_module("lib/libxml2.so.2", "/usr/lib/libxml2.so.2"));
    CHECK_FALSE(means_module("libxml", "/usr/lib/libxml2.so.2"));
    CHECK_FALSE(means_module("xml2", "/usr/lib/libxml2.so.2"));
    CHECK_FALSE(means_module("", "/usr/lib/libxml2.so.2"));
    CHECK_FALSE(means_module("", "/usr/lib/.so"));
    CHECK(means_module("program", "/home/x/program"));
}
