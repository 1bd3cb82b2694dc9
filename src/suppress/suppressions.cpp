// SPDX-License-Identifier: BSL-1.0
// Suppressions: read from text, matched against the names of a stack, and proposed for what was found.
#include "suppress/named_stack.hpp"
#include "suppress/pattern.hpp"
#include "suppress/text_lines.hpp"
#include "suppress/valgrind_suppressions.hpp"

#include "platform/thread_state.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace heapmark {

namespace {

using suppress::matches;
using suppress::NamedCall;
using suppress::names_of;
using suppress::trimmed;

bool kind_from(std::string_view word, Suppression::Kind& kind)
{
    using Kind = Suppression::Kind;
    for (const auto& [name, value] : {std::pair{"function", Kind::function},
                                      {"site", Kind::site},
                                      {"file", Kind::file},
                                      {"module", Kind::module},
                                      {"tag", Kind::tag},
                                      {"leak", Kind::leak}})
        if (word == name) {
            kind = value;
            return true;
        }
    return false;
}

bool matches_function(const std::string& pattern, const NamedCall& named)
{
    if (named.call.function.empty()) return false;
    const std::string_view bare = named.bare_name;
    return matches(pattern, named.call.function) || matches(pattern, bare) ||
           matches(pattern, bare.substr(bare.rfind(':') + 1)) || matches(pattern, named.call.short_function);
}

/// The path, or a part of it that begins after a '/'.
bool matches_path(const std::string& pattern, std::string_view path)
{
    if (path.empty()) return false;
    if (matches(pattern, path)) return true;
    for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1))
        if (matches(pattern, path.substr(slash + 1))) return true;
    return false;
}

bool matches_module(const std::string& pattern, std::string_view path)
{
    return matches_path(pattern, path) || matches_path(pattern, path.substr(0, path.find(".so")));
}

/// LeakSanitizer's patterns stand for any part of a text.
std::string whole_of_leak(const std::string& leak)
{
    std::string pattern = leak.front() == '^' ? leak.substr(1) : "*" + leak;
    if (!pattern.empty() && pattern.back() == '$')
        pattern.pop_back();
    else
        pattern += '*';
    return pattern;
}

template <class Predicate>
bool any_frame(const Stack& stack, Predicate matching)
{
    return std::any_of(stack.begin(), stack.end(), matching);
}

/// Frames are named as far as the answer depends on it, since to name the first of a source reads all that the compiler
/// told of that.
template <class Predicate>
bool any_call(const Stack& stack, Predicate matching)
{
    return any_frame(stack, [&](Frame frame) {
        const std::vector<NamedCall>& calls = names_of(frame);
        return std::any_of(calls.begin(), calls.end(), matching);
    });
}

/// As NamedStack has it.
const NamedCall* site_call(const Stack& stack)
{
    for (const Frame frame : stack)
        for (const NamedCall& call : names_of(frame))
            if (!call.call.plumbing) return &call;
    return stack.empty() ? nullptr : &names_of(stack[0]).front();
}

bool suppresses(const Suppression& suppression, const Block& block)
{
    const std::string& pattern = suppression.pattern;
    const Stack& stack = block.stack;
    // A built-in name without a scope is a system library's, not that of a program's function called the same.
    const bool only_system = suppression.built_in && pattern.find("::") == std::string::npos;
    const auto is_function = [&](const NamedCall& call) { return matches_function(pattern, call); };
    switch (suppression.kind) {
    case Suppression::Kind::tag: return !block.tag.empty() && matches(pattern, block.tag);
    case Suppression::Kind::site: {
        const NamedCall* site = site_call(stack);
        return site != nullptr && !(only_system && !site->is_of_system_library()) && is_function(*site);
    }
    case Suppression::Kind::function:
        return any_frame(stack, [&](Frame frame) {
            if (only_system && !suppress::is_system_library(module_path(frame))) return false;
            const std::vector<NamedCall>& calls = names_of(frame);
            return std::any_of(calls.begin(), calls.end(), is_function);
        });
    case Suppression::Kind::file:
        return any_call(stack, [&](const NamedCall& call) { return matches_path(pattern, call.call.file); });
    case Suppression::Kind::module:
        return any_frame(stack, [&](Frame frame) { return matches_module(pattern, module_path(frame)); });
    case Suppression::Kind::leak: {
        const std::string whole = whole_of_leak(pattern);
        return any_frame(stack, [&](Frame frame) { return matches(whole, module_path(frame)); }) ||
               any_call(stack, [&](const NamedCall& call) {
                   return matches(whole, call.call.function) || matches(whole, call.call.file);
               });
    }
    case Suppression::Kind::valgrind: return suppress::matches_valgrind(suppression.frames, names_of(stack), block.api);
    }
    return false;
}

} // namespace

void Suppressions::add(std::string_view text, std::string_view origin)
{
    const platform::Guard guard;
    std::string reason;
    for (suppress::TextLines lines(text); lines.next();) {
        const std::string_view line = lines.line();
        if (line.empty()) {
            reason.clear();
            continue;
        }
        if (line.front() == '#') {
            reason += (reason.empty() ? "" : " ") + std::string(trimmed(line.substr(1)));
            continue;
        }
        const std::size_t colon = line.find(':');
        Suppression suppression;
        suppression.origin = std::string(origin) + ":" + std::to_string(lines.number());
        suppression.reason = reason;
        if (line == "{") {
            if (suppress::read_valgrind(lines, suppression)) list_.push_back(suppression);
            continue;
        }
        if (colon == std::string_view::npos || !kind_from(trimmed(line.substr(0, colon)), suppression.kind))
            throw std::invalid_argument(suppression.origin + ": \"" + std::string(line) +
                                        "\" is not a suppression; write function:, site:, file:, module:, tag: or "
                                        "leak:, then a pattern, or Valgrind's form");
        const std::string_view rest = line.substr(colon + 1);
        const std::size_t comment = rest.find(" #");
        suppression.pattern = trimmed(rest.substr(0, comment));
        if (comment != std::string_view::npos) suppression.reason = trimmed(rest.substr(comment + 2));
        if (suppression.pattern.empty())
            throw std::invalid_argument(suppression.origin + ": the pattern is empty; \"*\" matches everything");
        list_.push_back(suppression);
    }
}

void Suppressions::add_file(const std::string& path)
{
    const platform::Guard guard;
    errno = 0;
    std::ifstream file(path);
    std::ostringstream text;
    if (file.is_open() && file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
    if (!file.is_open() || file.bad())
        throw std::runtime_error("suppressions cannot be read from " + path +
                                 (errno != 0 ? std::string(": ") + std::strerror(errno) : std::string()));
    add(text.str(), path);
}

Suppression* Suppressions::find(const Block& block)
{
    const platform::Guard guard;
    const auto found = std::find_if(list_.begin(), list_.end(),
                                    [&](const Suppression& suppression) { return suppresses(suppression, block); });
    return found == list_.end() ? nullptr : &*found;
}

void Suppressions::drop_only_held()
{
    const platform::Guard guard;
    list_.erase(std::remove_if(list_.begin(), list_.end(), [](const Suppression& each) { return each.only_held; }),
                list_.end());
}

std::string write_suppressions(const Snapshot& snapshot)
{
    std::string text;
    for (const Group& group : snapshot.group_by(by_call_site)) {
        const std::string line = suppress::suppression_for(suppress::names_of(group.front().stack));
        text += "# " + std::to_string(group.size()) + (group.size() == 1 ? " block, " : " blocks, ") +
                std::to_string(group.bytes()) + " bytes: " + std::string(group.label()) + "\n";
        text += line.empty() ? "# no name is known for it, so no pattern can match\n" : line + "\n";
    }
    return text;
}

} // namespace heapmark
