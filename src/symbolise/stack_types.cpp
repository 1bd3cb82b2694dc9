// SPDX-License-Identifier: BSL-1.0
#include "symbolise/stack_types.hpp"

#include "analyse/signature.hpp"
#include "symbolise/short_name.hpp"

#include <algorithm>
#include <vector>

namespace heapmark::symbolise {
namespace {

using analyse::CallName;

/// "int" of "std::_Vector_base<int, std::allocator<int> >::_M_allocate" for the start "std::_Vector_base"; empty when the
/// text starts otherwise. `rest` gets what follows the argument.
std::string_view first_argument(std::string_view text, std::string_view start, std::string_view& rest)
{
    if (!text.starts_with(start) || text.size() <= start.size() || text[start.size()] != '<') return {};
    const std::string_view arguments = text.substr(start.size() + 1);
    std::size_t end = 0;
    while (end < arguments.size() && arguments[end] != ',' && arguments[end] != '>') {
        const char c = arguments[end];
        end += c == '<' || c == '(' || c == '{' || c == '[' ? analyse::group_length(arguments.substr(end)) : 1;
    }
    if (end >= arguments.size()) return {};
    rest = arguments.substr(end);
    std::string_view argument = arguments.substr(0, end);
    while (!argument.empty() && argument.back() == ' ') argument.remove_suffix(1);
    return argument;
}

std::string_view first_argument(std::string_view text, std::string_view start)
{
    std::string_view rest;
    return first_argument(text, start, rest);
}

/// What std::allocator's own function was asked for; empty for any other function.
std::string_view allocated_element(std::string_view name)
{
    for (const std::string_view start : {"std::__new_allocator", "__gnu_cxx::new_allocator"}) {
        std::string_view rest;
        const std::string_view element = first_argument(name, start, rest);
        if (!element.empty() && rest.ends_with(">::allocate")) return element;
    }
    return {};
}

bool only_hands_on(std::string_view name)
{
    return name.starts_with("std::allocator_traits<") || name.starts_with("std::__allocate_guarded<") ||
           (name.starts_with("std::allocator<") && name.ends_with(">::allocate"));
}

/// A container of std::allocator's memory; others may do as they like.
std::string buffer_of(std::string_view name, std::string_view base, std::string_view function,
                      std::string_view container)
{
    std::string_view rest;
    const std::string_view element = first_argument(name, base, rest);
    if (element.empty() || !rest.starts_with(", std::allocator<") || !name.ends_with(function)) return {};
    return std::string(container) + "<" + short_type(element) + "> buffer";
}

std::string string_buffer(std::string_view name)
{
    constexpr std::string_view start = "std::__cxx11::basic_string";
    std::string_view rest;
    const std::string_view character = first_argument(name, start, rest);
    if (character.empty() || rest.find("std::allocator<") == std::string_view::npos) return {};
    // The others take iterators, which may be the program's.
    for (const std::string_view function :
         {">::_M_create", ">::_M_construct", ">::_M_mutate", ">::_M_assign", ">::reserve"})
        if (rest.ends_with(function))
            return character == "char" ? "std::string buffer"
                                       : "std::basic_string<" + short_type(character) + "> buffer";
    return {};
}

std::string node_or_elements(std::string_view element)
{
    if (const std::string_view object = first_argument(element, "std::_Sp_counted_ptr_inplace"); !object.empty())
        return "std::make_shared<" + short_type(object) + "> block";
    for (const std::string_view node :
         {"std::_List_node<", "std::_Fwd_list_node<", "std::_Rb_tree_node<", "std::__detail::_Hash_node<"})
        if (element.starts_with(node)) return short_type(element);
    return short_type(element) + "[]";
}

/// Objects that the function makes with a new expression of its own.
std::string made_by(const CallName& call, std::string_view name)
{
    if (name == "__cxa_allocate_exception") return "exception object";
    if (call.file.empty()) return {}; // a constructor may have been compiled into it, unseen
    if (name.starts_with("std::_Function_base::_Base_manager<") &&
        (name.find(">::_M_create") != std::string_view::npos || name.ends_with(">::_M_init_functor"))) {
        const std::string_view target = first_argument(name, "std::_Function_base::_Base_manager");
        return target.empty() ? "" : "std::function target " + short_type(target);
    }
    if (const std::string_view object = first_argument(name, "std::make_unique"); !object.empty())
        if (!object.ends_with("]")) return short_type(object);
    return {};
}

} // namespace

std::string type_by_stack(const Stack& stack, analyse::Names& names)
{
    std::string_view element;
    bool is_first = true;
    for (const Frame frame : stack) {
        for (const CallName& call : names.of_frame(frame).calls) {
            const std::string_view name = analyse::split_signature(call.function).name;
            if (name.starts_with("operator new") || name.starts_with("heapmark::")) continue;
            if (std::string made = is_first ? made_by(call, name) : ""; !made.empty()) return made;
            is_first = false;
            if (const std::string_view found = allocated_element(name); !found.empty()) {
                element = found;
                continue;
            }
            if (only_hands_on(name)) continue;
            std::string buffer = buffer_of(name, "std::_Vector_base", "::_M_allocate", "std::vector");
            if (buffer.empty()) buffer = buffer_of(name, "std::_Deque_base", "::_M_allocate_node", "std::deque");
            if (buffer.empty()) buffer = string_buffer(name);
            if (!buffer.empty()) return buffer;
            return element.empty() ? "" : node_or_elements(element);
        }
    }
    return element.empty() ? "" : node_or_elements(element);
}

} // namespace heapmark::symbolise
