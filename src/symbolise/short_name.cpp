// SPDX-License-Identifier: BSL-1.0
// Recursive descent over the brackets of a demangled name. Defaults of template arguments are those of the standard
// containers ([containers], [smartptr], [string.classes]); an argument is dropped only when it is exactly the default.
#include "symbolise/short_name.hpp"

#include "analyse/signature.hpp"

#include <array>
#include <vector>

namespace heapmark::symbolise {

namespace {

using analyse::group_length;
using analyse::operator_length;

bool is_word(char c) noexcept
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

void remove_all(std::string& text, std::string_view part)
{
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos;) text.erase(at, part.size());
}

/// "std::vector" of "int foo(std::vector": the qualified name that the text ends in.
std::string_view last_name(std::string_view text) noexcept
{
    std::size_t start = text.size();
    while (start > 0 && (is_word(text[start - 1]) || text[start - 1] == ':')) --start;
    return text.substr(start);
}

/// "std::basic_string" of char is "std::string", of wchar_t "std::wstring" ....
std::string alias_of(std::string_view name, std::string_view character)
{
    constexpr std::string_view basic = "std::basic_";
    constexpr std::array<std::array<std::string_view, 2>, 5> letters{
        {{"char", ""}, {"wchar_t", "w"}, {"char8_t", "u8"}, {"char16_t", "u16"}, {"char32_t", "u32"}}};
    constexpr std::array<std::string_view, 17> templates{
        "string",        "string_view",   "ostream",      "istream",   "iostream",  "streambuf",
        "ostringstream", "istringstream", "stringstream", "stringbuf", "ofstream",  "ifstream",
        "fstream",       "filebuf",       "ios",          "regex",     "spanstream"};
    if (!name.starts_with(basic)) return {};
    name.remove_prefix(basic.size());
    for (const std::string_view known : templates)
        for (const auto& [type, letter] : letters)
            if (known == name && type == character) return "std::" + std::string(letter) + std::string(known);
    return {};
}

class Shortener {
public:
    explicit Shortener(NameLimits limits) noexcept : limits_(limits) {}

    std::string text(std::string_view in)
    {
        std::string out;
        for (std::size_t at = 0; at < in.size();) {
            const std::string_view rest = in.substr(at);
            if (at == 0 || !is_word(in[at - 1])) {
                if (const std::size_t length = operator_length(rest); length != 0) {
                    out += rest.substr(0, length);
                    at += length;
                    continue;
                }
            }
            const char c = rest[0];
            if (c != '<' && c != '(' && c != '{' && c != '[') {
                out += c;
                ++at;
                continue;
            }
            const std::size_t length = group_length(rest);
            const std::string_view inside = rest.substr(1, length < 2 ? 0 : length - 2);
            if (c == '<')
                template_arguments(out, inside);
            else if (c == '[' && inside.starts_with("abi:"))
                ; // an ABI tag says nothing to a reader
            else if (c == '{')
                out += "{" + braces(inside) + "}";
            else
                out += c + joined(list(inside)) + (c == '(' ? ")" : "]");
            at += length;
        }
        return out;
    }

    std::string parameters(std::string_view group)
    {
        std::string out = text(group);
        return out.size() > limits_.parameters + 2 ? "(...)" : out;
    }

private:
    /// Items of a list separated by commas at depth 0, each shortened.
    std::vector<std::string> list(std::string_view in)
    {
        std::vector<std::string> items;
        std::size_t start = 0;
        const auto add = [&](std::size_t end) {
            std::string_view item = in.substr(start, end - start);
            while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
            while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
            items.push_back(text(item));
        };
        for (std::size_t at = 0; at < in.size();) {
            const std::size_t name = at == 0 || !is_word(in[at - 1]) ? operator_length(in.substr(at)) : 0;
            const char c = in[at];
            if (name != 0) {
                at += name;
            } else if (c == '<' || c == '(' || c == '{' || c == '[') {
                at += group_length(in.substr(at));
            } else {
                if (c == ',') {
                    add(at);
                    start = at + 1;
                }
                ++at;
            }
        }
        if (!in.empty()) add(in.size());
        return items;
    }

    static std::string joined(const std::vector<std::string>& items)
    {
        std::string out;
        for (const std::string& item : items) out += (out.empty() ? "" : ", ") + item;
        return out;
    }

    /// "lambda(int)#1" is "lambda#1": its parameters follow as those of its operator().
    std::string braces(std::string_view inside)
    {
        const std::size_t open = inside.find('(');
        if (!inside.starts_with("lambda") || open == std::string_view::npos) return std::string(inside);
        return std::string(inside.substr(0, open)) +
               std::string(inside.substr(open + group_length(inside.substr(open))));
    }

    static bool is_default(std::string_view argument, const std::vector<std::string>& all)
    {
        if (argument == "std::char_traits<" + all[0] + ">") return true;
        for (const std::string_view name :
             {"std::allocator", "std::default_delete", "std::hash", "std::equal_to", "std::less"})
            if (argument == std::string(name) + "<" + all[0] + ">") return true;
        if (all.size() < 3) return false;
        return argument == "std::allocator<std::pair<" + all[0] + " const, " + all[1] + ">>";
    }

    void template_arguments(std::string& out, std::string_view inside)
    {
        // The limit is for what is shown at the end: comparing defaults needs the whole text.
        const NameLimits shown = limits_;
        limits_ = {std::string::npos / 2, std::string::npos / 2};
        std::vector<std::string> items = list(inside);
        limits_ = shown;

        const std::string_view name = last_name(out);
        // libstdc++ names its own base classes with the allocator spelt out, and those are not defaults.
        if (name.starts_with("std::") && name.find("::_", 3) == std::string_view::npos)
            while (items.size() > 1 && is_default(items.back(), items)) items.pop_back();
        if (name.starts_with("std::") && items.size() == 1)
            if (const std::string alias = alias_of(name, items[0]); !alias.empty()) {
                out.replace(out.size() - name.size(), name.size(), alias);
                return;
            }
        const std::string arguments = joined(items);
        out += arguments.size() > limits_.template_arguments ? "<...>" : "<" + arguments + ">";
    }

    NameLimits limits_;
};

/// The lambda's own call operator and clang's names for lambdas: "{lambda#1}::operator()" is "{lambda#1}".
std::string plain_lambdas(std::string name)
{
    for (std::size_t at = 0; (at = name.find("::$_", at)) != std::string::npos;) {
        std::size_t end = at + 4;
        std::size_t number = 0;
        while (end < name.size() && name[end] >= '0' && name[end] <= '9')
            number = number * 10 + static_cast<std::size_t>(name[end++] - '0');
        const std::string lambda = "::{lambda#" + std::to_string(number + 1) + "}";
        name.replace(at, end - at, lambda);
        at += lambda.size();
    }
    constexpr std::string_view call = "}::operator()";
    for (std::size_t at = 0; (at = name.find(call, at)) != std::string::npos;) {
        const std::size_t brace = name.rfind('{', at);
        const bool of_lambda =
            brace != std::string::npos && std::string_view(name).substr(brace).starts_with("{lambda");
        if (of_lambda) name.erase(at + 1, call.size() - 1);
        at += of_lambda ? 1 : call.size();
    }
    return name;
}

/// "f(int) const::{lambda()#1}" is "f::{lambda()#1}": parameters of enclosing functions say little.
std::string without_enclosing_parameters(std::string_view name)
{
    std::string out;
    for (std::size_t at = 0; at < name.size();) {
        const std::string_view rest = name.substr(at);
        const std::size_t name_length = at == 0 || !is_word(name[at - 1]) ? operator_length(rest) : 0;
        if (name_length != 0 || !(rest[0] == '(' || rest[0] == '<' || rest[0] == '{')) {
            const std::size_t length = name_length != 0 ? name_length : 1;
            out += rest.substr(0, length);
            at += length;
            continue;
        }
        const std::size_t length = group_length(rest);
        if (rest[0] != '(' || rest.starts_with("(anonymous namespace)")) {
            out += rest.substr(0, length);
            at += length;
            continue;
        }
        const std::size_t scope = rest.find("::", length);
        at = scope == std::string_view::npos ? name.size() : at + scope;
    }
    return out;
}

std::string normalised(std::string_view demangled)
{
    std::string text(demangled);
    for (const std::string_view space : {"std::__cxx11::", "std::__1::", "std::__ndk1::"})
        for (std::size_t at = 0; (at = text.find(space, at)) != std::string::npos;)
            text.replace(at, space.size(), "std::");
    remove_all(text, "[abi:cxx11]");
    return text;
}

/// ".isra.0", ".part.1", ".cold" of a C function: parts the compiler made of it.
std::string_view without_clone_suffix(std::string_view name) noexcept
{
    const std::size_t dot = name.find('.');
    if (dot == 0 || dot == std::string_view::npos || name.find('(') != std::string_view::npos) return name;
    for (const std::string_view mark : {".isra", ".part", ".cold", ".constprop", ".lto_priv", ".llvm"})
        if (name.substr(dot).starts_with(mark)) return name.substr(0, dot);
    return name;
}

} // namespace

std::string short_function(std::string_view demangled, NameLimits limits)
{
    const std::string text = normalised(demangled);
    const analyse::Signature parts = analyse::split_signature(without_clone_suffix(text));
    Shortener shortener(limits);
    std::string name = plain_lambdas(shortener.text(without_enclosing_parameters(parts.name)));
    const bool lambda = analyse::without_template_arguments(name).ends_with('}'); // whose " const" nobody wrote
    name += shortener.parameters(parts.parameters);
    return lambda ? name : name.append(parts.qualifiers);
}

std::string_view public_c_name(std::string_view name, std::string_view module) noexcept
{
    constexpr std::string_view internal = "__GI_";
    const bool in_libc = module.substr(module.rfind('/') + 1).starts_with("libc.so");
    if (!in_libc || name.starts_with("__libc_start")) return name;
    if (name.starts_with(internal)) name.remove_prefix(internal.size());
    if (name.starts_with("__libc_")) return name.substr(7);
    return name.starts_with("__") ? name.substr(2) : name;
}

std::string short_type(std::string_view demangled, NameLimits limits)
{
    Shortener shortener(limits);
    return plain_lambdas(shortener.text(normalised(demangled)));
}

} // namespace heapmark::symbolise
