// SPDX-License-Identifier: BSL-1.0
// What a stack proves of its block, and what it does not.
#include "symbolise/stack_types.hpp"

#include "../analyse/invented_names.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace heapmark;
using heapmark::symbolise::type_by_stack;

namespace {

/// Of frames with one call each, innermost first, in a file unless told otherwise.
std::string type_of(const std::vector<std::string>& functions, std::string_view file = "/usr/include/c++/12/x.h")
{
    test::InventedNames names;
    test::Stacks stacks;
    std::vector<Frame> frames;
    for (const std::string& function : functions) frames.push_back(names.call(function, file, 1));
    return type_by_stack(stacks.of(frames), names);
}

const std::string allocate_node = "std::__new_allocator<Node>::allocate(unsigned long, void const*)";
const std::string traits =
    "std::allocator_traits<std::allocator<Node> >::allocate(std::allocator<Node>&, unsigned long)";

} // namespace

TEST_CASE("buffers and nodes of containers")
{
    CHECK(type_of(
              {allocate_node, traits, "std::_Vector_base<Node, std::allocator<Node> >::_M_allocate(unsigned long)"}) ==
          "std::vector<Node> buffer");
    CHECK(type_of(
              {"std::_Vector_base<std::pair<int, char>, std::allocator<std::pair<int, char> > >::_M_allocate(unsigned "
               "long)"}) == "std::vector<std::pair<int, char>> buffer");
    CHECK(type_of({"__gnu_cxx::new_allocator<std::_List_node<Node> >::allocate(unsigned long, void const*)",
                   "fill()"}) == "std::_List_node<Node>");
    CHECK(type_of({allocate_node, traits, "Pool::grow()"}) == "Node[]");
    CHECK(
        type_of({"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_create(unsigned "
                 "long&, unsigned long)"},
                "") == "std::string buffer");
}

TEST_CASE("objects that the library makes")
{
    CHECK(type_of({"std::__new_allocator<std::_Sp_counted_ptr_inplace<Node, std::allocator<void>, "
                   "(__gnu_cxx::_Lock_policy)2> >::allocate(unsigned long, void const*)",
                   "std::__allocate_guarded<std::allocator<int> >(std::allocator<int>&)", "main"}) ==
          "std::make_shared<Node> block");
    CHECK(type_of({"__cxa_allocate_exception", "throws()"}, "") == "exception object");
    const std::string target = "std::_Function_base::_Base_manager<Big>::_M_create<Big>(std::_Any_data&, Big&&, "
                               "std::integral_constant<bool, false>)";
    CHECK(type_of({target}) == "std::function target Big");
    CHECK(type_of({target}, "") == ""); // Big's constructor may be in there
    CHECK(type_of({"Big::Big(Big&&)", target}) == "");
    CHECK(type_of({"std::_MakeUniq<Node>::__single_object std::make_unique<Node>()"}) == "Node");
    CHECK(type_of({"std::_MakeUniq<Node[]>::__array std::make_unique<Node []>(unsigned long)"}) == "");
}

TEST_CASE("what proves nothing")
{
    CHECK(type_of({}) == "");
    CHECK(type_of({"make_node()", "main"}) == "");
    CHECK(type_of({"std::_Vector_base<Node, Arena<Node> >::_M_allocate(unsigned long)"}) == "");
    CHECK(type_of({"mine::_Vector_base<Node, std::allocator<Node> >::_M_allocate(unsigned long)"}) == "");
    CHECK(type_of({"void std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
                   ">::_M_construct<Lines>(Lines, Lines, std::forward_iterator_tag)"}) == "");
    CHECK(type_of({"std::_Vector_base<"}) == "");
    CHECK(type_of({"std::__new_allocator<"}) == "");
}
