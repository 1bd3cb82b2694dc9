// SPDX-License-Identifier: BSL-1.0
#include "report/stack_text.hpp"

#include "analyse/group.hpp"
#include "symbolise/plumbing.hpp"

#include <algorithm>
#include <span>

namespace heapmark::report {

namespace {

/// Places line up behind functions of up to this width; those of longer ones stand further right.
constexpr std::size_t widest_column = 56;

struct ShownCall {
    const analyse::FrameNames* frame;
    const analyse::CallName* call;
};

std::vector<ShownCall> all_calls(const Stack& stack, analyse::Names& names)
{
    std::vector<ShownCall> calls;
    for (const Frame bits : stack) {
        const analyse::FrameNames& frame = names.of_frame(bits);
        for (const analyse::CallName& call : frame.calls) calls.push_back({&frame, &call});
    }
    return calls;
}

std::span<const ShownCall> without_plumbing(std::span<const ShownCall> calls)
{
    const auto wanted = std::find_if(calls.begin(), calls.end(), [](const ShownCall& c) { return !c.call->plumbing; });
    if (wanted == calls.end()) return calls; // all machinery: better seen than nothing
    calls = calls.subspan(static_cast<std::size_t>(wanted - calls.begin()));

    const auto last_main =
        std::find_if(calls.rbegin(), calls.rend(), [](const ShownCall& c) { return c.call->function == "main"; });
    if (last_main != calls.rend()) return calls.first(static_cast<std::size_t>(calls.rend() - last_main));

    // A thread's function is called by the library's thread class, that by the C library.
    std::size_t shown = calls.size();
    while (shown > 1) {
        const ShownCall& outermost = calls[shown - 1];
        const bool below_program = symbolise::is_startup(outermost.call->function, outermost.frame->module) ||
                                   (shown < calls.size() && outermost.call->plumbing);
        if (!below_program) break;
        --shown;
    }
    return calls.first(shown);
}

std::string place_of(const ShownCall& shown, const TextOptions& options)
{
    const analyse::CallName& call = *shown.call;
    if (!call.file.empty()) {
        std::string place = shown_path(call.file, options.source_root);
        return call.line == 0 ? place : place + ":" + std::to_string(call.line);
    }
    return call.function.empty() ? std::string{} : std::string(analyse::file_name(shown.frame->module));
}

} // namespace

void append_stack(std::string& out, const Stack& stack, TextContext& context)
{
    const std::vector<ShownCall> all = all_calls(stack, context.names);
    if (all.empty()) {
        out += "     (no stack)\n";
        return;
    }
    const std::span<const ShownCall> calls = context.options.plumbing ? std::span(all) : without_plumbing(all);
    if (calls.size() < all.size()) context.frames_folded = true;

    std::vector<std::string> functions;
    std::size_t column = 0;
    for (const ShownCall& shown : calls) {
        functions.push_back(analyse::call_label(*shown.frame, *shown.call));
        if (functions.back().size() <= widest_column) column = std::max(column, functions.back().size());
    }
    const auto site = std::find_if(calls.begin(), calls.end(), [](const ShownCall& c) { return !c.call->plumbing; });
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const std::string number = std::to_string(i);
        out += "  " + std::string(number.size() < 2 ? 1 : 0, ' ') + context.paint(Ink::faint, number) + "  ";
        const bool is_site = site != calls.end() && &*site == &calls[i];
        out += is_site ? context.paint(Ink::site, functions[i]) : functions[i];
        const std::string place = place_of(calls[i], context.options);
        const bool inlined = calls[i].call->inlined;
        if (!place.empty() || inlined) {
            out.append(column > functions[i].size() ? column - functions[i].size() : 0, ' ');
            if (!place.empty()) out += "  " + context.paint(Ink::place, place);
            if (inlined) out += context.paint(Ink::faint, "  (inlined)");
        }
        out += '\n';
    }
}

} // namespace heapmark::report
