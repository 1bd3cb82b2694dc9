// SPDX-License-Identifier: BSL-1.0
#include "suppress/valgrind_suppressions.hpp"

#include "suppress/pattern.hpp"

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <stdexcept>

namespace heapmark::suppress {

namespace {

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

/// The next line that is neither empty nor a comment.
bool next_meant(TextLines& lines)
{
    while (lines.next())
        if (!lines.line().empty() && lines.line().front() != '#') return true;
    return false;
}

/// "Memcheck,Addrcheck:Leak" names Memcheck's leaks.
bool is_of_leaks(std::string_view tools_and_kind)
{
    const std::size_t colon = tools_and_kind.find(':');
    if (colon == std::string_view::npos || trimmed(tools_and_kind.substr(colon + 1)) != "Leak") return false;
    for (std::string_view tools = tools_and_kind.substr(0, colon); !tools.empty();) {
        const std::size_t comma = tools.find(',');
        if (trimmed(tools.substr(0, comma)) == "Memcheck") return true;
        tools = comma == std::string_view::npos ? std::string_view{} : tools.substr(comma + 1);
    }
    return false;
}

/// Of definite, indirect, possible, reachable, all and none: whether only reachable is among them.
bool are_only_reachable(std::string_view kinds)
{
    const auto has = [kinds](std::string_view kind) { return kinds.find(kind) != std::string_view::npos; };
    return has("reachable") && !has("definite") && !has("indirect") && !has("possible") && !has("all");
}

/// The functions of the allocator as the linker knows them.
std::vector<std::string_view> linkage_names(Api api)
{
    switch (api) {
    case Api::aligned_alloc: return {"aligned_alloc", "memalign"}; // the name that Valgrind's has
    case Api::operator_new: return {"_Znwm", "_ZnwmRKSt9nothrow_t"};
    case Api::operator_new_array: return {"_Znam", "_ZnamRKSt9nothrow_t"};
    case Api::operator_new_aligned: return {"_ZnwmSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t"};
    case Api::operator_new_array_aligned: return {"_ZnamSt11align_val_t", "_ZnamSt11align_val_tRKSt9nothrow_t"};
    default: return {to_string(api)};
    }
}

std::string demangled(const std::string& name)
{
    if (!starts_with(name, "_Z")) return name;
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                           &std::free);
    return status == 0 ? text.get() : name;
}

bool is_allocator(std::string_view frame, Api api)
{
    if (starts_with(frame, "fun:")) {
        const auto names = linkage_names(api);
        return std::any_of(names.begin(), names.end(), [&](auto name) { return matches(frame.substr(4), name); });
    }
    // Valgrind has the function in a library of its own, in a folder that depends on the distribution.
    return frame == "obj:*" || (starts_with(frame, "obj:") && frame.find("vgpreload") != std::string_view::npos);
}

bool is_call(std::string_view frame, const NamedCall& named)
{
    const std::string pattern(frame.substr(4));
    if (starts_with(frame, "fun:")) {
        if (!named.linkage_name.empty() && matches(pattern, named.linkage_name)) return true;
        // What is inlined has its name without scope, and some of its template arguments.
        const std::string_view bare = named.bare_name;
        return !bare.empty() && (matches(pattern.substr(0, pattern.find('<')), bare.substr(bare.rfind(':') + 1)) ||
                                 matches(demangled(pattern), named.call.function));
    }
    if (starts_with(frame, "obj:")) return !named.module.empty() && matches(pattern, named.module);
    // src:file.c:7, where the file is the end of a path.
    const std::size_t colon = pattern.rfind(':');
    const std::string file = pattern.substr(0, colon);
    if (colon != std::string::npos && pattern.substr(colon + 1) != std::to_string(named.call.line)) return false;
    return !named.call.file.empty() && (matches(file, named.call.file) || matches("*/" + file, named.call.file));
}

using Frames = std::vector<std::string>;
using Calls = std::vector<const NamedCall*>;

/// From this frame and this call on; call 0 is the allocator's, and the stack's come after it.
bool match_from(const Frames& frames, std::size_t frame, const Calls& calls, std::size_t call, Api api)
{
    for (; frame < frames.size(); ++frame, ++call) {
        if (frames[frame] == "...") {
            for (std::size_t skipped = call; skipped <= calls.size() + 1; ++skipped)
                if (match_from(frames, frame + 1, calls, skipped, api)) return true;
            return false;
        }
        if (call > calls.size()) return false;
        if (!(call == 0 ? is_allocator(frames[frame], api) : is_call(frames[frame], *calls[call - 1]))) return false;
    }
    return true;
}

} // namespace

bool read_valgrind(TextLines& lines, Suppression& suppression)
{
    const auto fail = [&suppression](const std::string& what) {
        throw std::invalid_argument(suppression.origin + ": the entry in Valgrind's form " + what);
    };
    if (!next_meant(lines) || lines.line() == "}") fail("has no name; its first line should be one");
    suppression.kind = Suppression::Kind::valgrind;
    suppression.pattern = lines.line();
    if (!next_meant(lines) || lines.line() == "}") fail("has no kind; its second line should be, say, Memcheck:Leak");
    const bool wanted = is_of_leaks(lines.line());
    while (next_meant(lines)) {
        const std::string_view line = lines.line();
        constexpr std::string_view kinds = "match-leak-kinds:";
        if (line == "}") {
            if (wanted && suppression.frames.empty()) fail("has no frames; write fun:, obj:, src: or ...");
            return wanted;
        }
        if (!wanted) continue;
        if (starts_with(line, kinds))
            suppression.only_held = are_only_reachable(line.substr(kinds.size()));
        else if (line == "..." || starts_with(line, "fun:") || starts_with(line, "obj:") || starts_with(line, "src:"))
            suppression.frames.emplace_back(line);
        else
            fail("has \"" + std::string(line) + "\" on line " + std::to_string(lines.number()) +
                 ", which is no frame; write fun:, obj:, src: or ...");
    }
    fail("does not end; a line with } is missing");
    return false;
}

bool matches_valgrind(const std::vector<std::string>& frames, const NamedStack& stack, Api api)
{
    Calls not_inlined;
    for (const NamedCall* call : stack.calls)
        if (!call->call.inlined) not_inlined.push_back(call);
    return match_from(frames, 0, stack.calls, 0, api) ||
           (not_inlined.size() != stack.calls.size() && match_from(frames, 0, not_inlined, 0, api));
}

} // namespace heapmark::suppress
