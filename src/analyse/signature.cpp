// SPDX-License-Identifier: BSL-1.0
// The grammar is that of the Itanium demangler's output, which is not C++: "(anonymous namespace)", "{lambda(int)#1}",
// a return type in front of templates only, " const::" after the parameters of an enclosing function.
#include "analyse/signature.hpp"

#include <algorithm>
#include <array>

namespace heapmark::analyse {

namespace {

bool is_word(char c) noexcept
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

bool opens(char c) noexcept { return c == '(' || c == '<' || c == '{' || c == '['; }
bool closes(char c) noexcept { return c == ')' || c == '>' || c == '}' || c == ']'; }

/// A qualifier of the function before it, and not the next word of a declaration.
bool starts_with_qualifier(std::string_view text) noexcept
{
    for (const std::string_view word : {"const", "volatile", "noexcept", "&"})
        if (text.starts_with(word) && (word == "&" || text.size() == word.size() || !is_word(text[word.size()])))
            return true;
    return false;
}

/// Calls step(position, length) for each bracket group, operator name and other character at depth 0.
template <class Step>
void walk(std::string_view text, Step step)
{
    for (std::size_t at = 0; at < text.size();) {
        std::size_t length = 1;
        if (at == 0 || !is_word(text[at - 1]))
            if (const std::size_t name = operator_length(text.substr(at)); name != 0) length = name;
        if (opens(text[at])) length = group_length(text.substr(at));
        step(at, length);
        at += length;
    }
}

std::string without_blanks(std::string_view text)
{
    std::string out;
    std::copy_if(text.begin(), text.end(), std::back_inserter(out), [](char c) { return c != ' '; });
    return out;
}

bool is_tail_at(std::string_view tail, std::string_view text, std::string_view boundary) noexcept
{
    if (tail.empty() || !text.ends_with(tail)) return false;
    return text.size() == tail.size() || text.substr(0, text.size() - tail.size()).ends_with(boundary);
}

} // namespace

std::size_t operator_length(std::string_view text) noexcept
{
    constexpr std::string_view keyword = "operator";
    if (!text.starts_with(keyword)) return 0;
    const std::string_view rest = text.substr(keyword.size());
    if (rest.empty() || is_word(rest[0])) return 0;
    constexpr std::array<std::string_view, 22> signs{
        "<=>", "<<=", ">>=", "->*", " new[]", " delete[]", " new", " delete", "<<", ">>", "<=",
        ">=",  "->",  "()",  "[]",  "\"\" ",  "<",         ">",    "&&",      "||", "++", "--"};
    for (const std::string_view sign : signs)
        if (rest.starts_with(sign)) return keyword.size() + sign.size();
    return keyword.size();
}

std::size_t group_length(std::string_view text) noexcept
{
    std::size_t depth = 0;
    for (std::size_t at = 0; at < text.size();) {
        if (at > 0 && !is_word(text[at - 1]))
            if (const std::size_t name = operator_length(text.substr(at)); name != 0) {
                at += name;
                continue;
            }
        if (text.substr(at).starts_with("->")) {
            at += 2;
            continue;
        }
        if (opens(text[at])) ++depth;
        if (closes(text[at]) && --depth == 0) return at + 1;
        ++at;
    }
    return text.size();
}

Signature split_signature(std::string_view function) noexcept
{
    function = function.substr(0, function.find(" [clone "));
    std::size_t parameters = function.size();
    walk(function, [&](std::size_t at, std::size_t length) {
        if (function[at] != '(') return;
        const std::string_view rest = function.substr(at + length);
        if (rest.empty() ||
            (starts_with_qualifier(rest.substr(rest[0] == ' ')) && rest.find("::") == std::string_view::npos))
            parameters = at;
    });

    Signature parts;
    const std::string_view head = function.substr(0, parameters);
    if (parameters < function.size()) {
        const std::string_view tail = function.substr(parameters);
        const std::size_t length = group_length(tail);
        parts.parameters = tail.substr(0, length);
        parts.qualifiers = tail.substr(length);
    }

    std::size_t name = 0;
    bool in_conversion = false; // "operator char const*": the rest is one name
    walk(head, [&](std::size_t at, std::size_t length) {
        if (length == 8 && head.substr(at).starts_with("operator ")) in_conversion = true;
        if (head.substr(at, 2) == "::" || head[at] == '{') in_conversion = false;
        if (head[at] != ' ' || length != 1 || in_conversion) return;
        if (head.substr(at).starts_with(" <")) return; // "operator<< <int>"
        if (at > 0 && head[at - 1] == ')' && starts_with_qualifier(head.substr(at + 1))) return;
        name = at + 1;
    });
    parts.returns = head.substr(0, name == 0 ? 0 : name - 1);
    parts.name = head.substr(name);
    return parts;
}

std::string without_template_arguments(std::string_view name)
{
    std::string out;
    walk(name, [&](std::size_t at, std::size_t length) {
        const std::string_view part = name.substr(at, length);
        if (part[0] != '<' && !part.starts_with("[abi:")) out += part;
    });
    return out;
}

bool means_function(std::string_view wanted, std::string_view function)
{
    // Most functions are told apart by a word; filters ask this of every frame.
    const std::string_view head = wanted.substr(0, wanted.find_first_of("(<"));
    std::size_t word = head.size();
    while (word > 0 && is_word(head[word - 1])) --word;
    if (function.find(head.substr(word)) == std::string_view::npos) return false;

    const Signature want = split_signature(wanted);
    const Signature have = split_signature(function);
    if (have.name.empty() || want.name.empty()) return false;
    if (!want.parameters.empty() && without_blanks(want.parameters) != without_blanks(have.parameters)) return false;

    const std::string plain = without_blanks(without_template_arguments(want.name));
    const std::string exact = without_blanks(want.name);
    return is_tail_at(exact, without_blanks(have.name), "::") ||
           (plain == exact && is_tail_at(plain, without_blanks(without_template_arguments(have.name)), "::"));
}

bool means_file(std::string_view wanted, std::string_view path) noexcept { return is_tail_at(wanted, path, "/"); }

bool means_module(std::string_view wanted, std::string_view path) noexcept
{
    if (means_file(wanted, path)) return true;
    const std::string_view file = path.substr(path.rfind('/') + 1);
    const std::size_t suffix = file.find(".so");
    return suffix != std::string_view::npos && !wanted.empty() && file.substr(0, suffix) == wanted;
}

} // namespace heapmark::analyse
