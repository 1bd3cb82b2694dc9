// SPDX-License-Identifier: BSL-1.0
#include "suppress/named_stack.hpp"

#include "analyse/signature.hpp"
#include "platform/thread_state.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <unordered_map>

namespace heapmark::suppress {

namespace {

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

bool is_of_framework(const NamedCall& named)
{
    constexpr std::array<std::string_view, 6> prefixes{
        "testing::", "doctest::", "Catch::", "boost::unit_test::", "boost::detail::", "boost::execution_monitor::"};
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](auto prefix) { return starts_with(named.bare_name, prefix); });
}

/// Functions of test frameworks, of heapmark, and those that call main and threads.
bool is_harness(const NamedCall& named)
{
    constexpr std::array<std::string_view, 2> prefixes{"heapmark::", "__libc_start_"};
    constexpr std::array<std::string_view, 9> names{"main",     "_start",        "start_thread",
                                                    "clone",    "__clone",       "clone3",
                                                    "__clone3", "RUN_ALL_TESTS", "execute_native_thread_routine"};
    const std::string_view name = named.bare_name;
    return is_of_framework(named) ||
           std::any_of(prefixes.begin(), prefixes.end(), [&](auto prefix) { return starts_with(name, prefix); }) ||
           std::find(names.begin(), names.end(), name) != names.end();
}

bool is_of_the_system(const NamedCall& named)
{
    return named.is_of_system_library() || starts_with(named.call.file, "/usr/include/");
}

std::string function_text(const Call& call)
{
    if (call.function.empty() && call.short_function.empty()) return "(unknown function)";
    return call.short_function.empty() ? call.function : call.short_function;
}

/// File and line, or else the module; "" when neither is known.
std::string place_text(const NamedCall& named, std::string_view source_root)
{
    if (named.call.file.empty()) return std::string(named.module.substr(named.module.rfind('/') + 1));
    std::string text(below(source_root, named.call.file));
    if (named.call.line != 0) text += ":" + std::to_string(named.call.line);
    return text;
}

std::vector<NamedCall> name(Frame frame)
{
    std::vector<NamedCall> calls;
    for (Call& call : resolve(frame)) {
        NamedCall& last = calls.emplace_back();
        last.bare_name = analyse::without_template_arguments(analyse::split_signature(call.function).name);
        last.call = std::move(call);
        last.module = module_path(frame);
        last.line = function_text(last.call) + "  " + place_text(last, "") + (last.call.inlined ? "  (inlined)" : "");
    }
    calls.back().linkage_name = linkage_name(frame);
    return calls;
}

NamedStack name_all(const Stack& stack)
{
    NamedStack named;
    for (const Frame frame : stack)
        for (const NamedCall& call : names_of(frame)) named.calls.push_back(&call);
    const auto first = std::find_if(named.calls.begin(), named.calls.end(),
                                    [](const NamedCall* call) { return !call->call.plumbing; });
    if (first != named.calls.end()) named.site = static_cast<std::size_t>(first - named.calls.begin());

    named.end = named.calls.size();
    while (named.end > named.site + 1) {
        const NamedCall& outermost = *named.calls[named.end - 1];
        if (!outermost.call.plumbing && !is_harness(outermost)) break;
        --named.end;
    }
    return named;
}

} // namespace

bool NamedCall::has_line() const noexcept { return !call.file.empty() && call.line != 0; }

bool NamedCall::is_of_system_library() const noexcept { return is_system_library(module); }

bool is_system_library(std::string_view module) noexcept
{
    return starts_with(module, "/lib/") || starts_with(module, "/usr/lib") || starts_with(module, "/lib64/");
}

const NamedCall* NamedStack::place() const
{
    const NamedCall* any = nullptr;
    for (std::size_t i = site; i < end; ++i) { // not those that call tests: they say nothing of this one
        const NamedCall& call = *calls[i];
        if (!call.has_line() || call.call.plumbing || (i != site && is_harness(call))) continue;
        if (!is_of_the_system(call)) return &call;
        if (any == nullptr) any = &call;
    }
    const auto is_frameworks = [](const NamedCall* call) { return is_of_framework(*call); };
    if (any != nullptr || std::any_of(calls.begin(), calls.end(), is_frameworks)) return any;
    const auto main = std::find_if(calls.begin(), calls.end(), [](const NamedCall* call) {
        return call->bare_name == "main" && call->has_line(); // there it is the test
    });
    return main == calls.end() ? nullptr : *main;
}

const std::vector<NamedCall>& names_of(Frame frame)
{
    const platform::Guard guard;
    static std::mutex mutex;
    static auto& known = *new std::unordered_map<std::uint64_t, std::vector<NamedCall>>; // read until the very end
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = known.find(frame.bits);
    if (found != known.end()) return found->second;
    return known.emplace(frame.bits, name(frame)).first->second;
}

const NamedStack& names_of(const Stack& stack)
{
    using Key = std::pair<const Frame*, std::size_t>;
    const platform::Guard guard;
    static std::mutex mutex;
    static auto& known = *new std::map<Key, NamedStack>; // read until the very end of the process
    const std::lock_guard<std::mutex> lock(mutex);
    const Key key{stack.begin(), stack.size()};
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
    return known.emplace(key, name_all(stack)).first->second;
}

std::string_view below(std::string_view root, std::string_view path) noexcept
{
    while (!root.empty() && root.back() == '/') root.remove_suffix(1);
    if (root.empty() || !starts_with(path, root) || path.size() <= root.size() || path[root.size()] != '/') return path;
    return path.substr(root.size() + 1);
}

std::string stack_lines(const NamedStack& stack, std::string_view source_root)
{
    if (stack.calls.empty()) return "     (no stack)\n";
    std::vector<std::string> functions;
    std::size_t column = 0;
    constexpr std::size_t widest_column = 56;
    for (std::size_t i = stack.site; i < stack.end; ++i) {
        const std::string& text = functions.emplace_back(function_text(stack.calls[i]->call));
        if (text.size() <= widest_column) column = std::max(column, text.size());
    }
    std::string lines;
    for (std::size_t i = 0; i < functions.size(); ++i) {
        const NamedCall& named = *stack.calls[stack.site + i];
        const std::string number = std::to_string(i);
        lines += std::string(4 - std::min<std::size_t>(number.size(), 3), ' ') + number + "  " + functions[i];
        lines.append(column > functions[i].size() ? column - functions[i].size() : 0, ' ');
        if (const std::string place = place_text(named, source_root); !place.empty()) lines += "  " + place;
        if (named.call.inlined) lines += "  (inlined)";
        lines += '\n';
    }
    return lines;
}

std::string suppression_for(const NamedStack& stack)
{
    // Names of the program come first: what a library's function asks for in its name may be many's.
    for (const bool of_libraries_too : {false, true})
        for (std::size_t i = stack.site; i < stack.end; ++i) {
            const NamedCall& call = *stack.calls[i];
            const std::string& name = call.bare_name;
            if (name.empty() || starts_with(name, "operator")) continue; // the name of many
            if (of_libraries_too || !call.is_of_system_library())
                return (i == stack.site ? "site:" : "function:") + name;
        }
    const NamedCall* place = stack.place();
    if (place != nullptr) return "file:" + place->call.file.substr(place->call.file.rfind('/') + 1);
    const NamedCall* site = stack.site_call();
    if (site == nullptr || site->module.empty()) return {};
    return "module:" + std::string(site->module.substr(site->module.rfind('/') + 1));
}

} // namespace heapmark::suppress
