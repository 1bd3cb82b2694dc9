// SPDX-License-Identifier: BSL-1.0
// Lost groups with the stack of their root, cycles with the pointers that close them, held clusters with the way to them.
#include "report/explanation_text.hpp"

#include "report/left_out.hpp"
#include "report/stack_text.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace heapmark::report {
namespace {

/// Of a way or a cycle, this many blocks are shown at each end.
constexpr std::size_t shown_ends = 4;

std::string thread_in_words(ThreadId thread)
{
    return thread == ThreadId{} ? "an unknown thread" : "thread " + std::to_string(static_cast<std::uint32_t>(thread));
}

std::string in_function(const Root& root) { return root.name.empty() ? "" : ", in " + std::string(root.name); }

std::string variable_in_words(const Root& root, std::string_view file)
{
    return "'" + std::string(root.name) + "' (" + std::string(file) + ")" +
           (root.offset == 0 ? "" : " +" + std::to_string(root.offset));
}

std::string root_in_words(const Root& root)
{
    const std::string_view file = analyse::file_name(root.module);
    switch (root.kind) {
    case Root::Kind::data:
        if (root.name.empty()) return "a variable of " + (file.empty() ? "the program" : std::string(file));
        return "global " + variable_in_words(root, file);
    case Root::Kind::thread_storage:
        if (root.name.empty()) return "thread-local storage of " + thread_in_words(root.thread);
        return "thread_local " + variable_in_words(root, file) + " of " + thread_in_words(root.thread);
    case Root::Kind::thread_key:
        if (root.key < 0) return "descriptor or specific value of " + thread_in_words(root.thread);
        return "specific value of key " + std::to_string(root.key) + " of " + thread_in_words(root.thread);
    case Root::Kind::thread_argument: return "start argument of " + thread_in_words(root.thread);
    case Root::Kind::stack: return "stack of " + thread_in_words(root.thread) + in_function(root);
    case Root::Kind::registers: return "a register of " + thread_in_words(root.thread) + in_function(root);
    case Root::Kind::annotated:
        return "region '" + std::string(root.name) + "'" + (root.offset == 0 ? "" : " +" + std::to_string(root.offset));
    case Root::Kind::loader: return "the dynamic loader's records";
    }
    return "";
}

std::string block_in_words(const Block& block, analyse::Names& names)
{
    const std::string_view type = names.type_of(block);
    return (type.empty() ? "" : std::string(type) + ", ") + bytes_in_words(block.size);
}

/// Steps from `from` on, each with the offset of the pointer to the next; `closing` follows the last.
std::string steps_in_words(const std::vector<Step>& steps, bool closes, analyse::Names& names)
{
    std::string out;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (steps.size() > 2 * shown_ends && i == shown_ends) {
            out += " -> " + count_of(steps.size() - 2 * shown_ends, "more block");
            i = steps.size() - shown_ends;
        }
        out += (out.empty() ? "" : " -> ") + block_in_words(steps[i].block, names);
        if (closes || i + 1 < steps.size()) out += " +" + std::to_string(steps[i].offset);
    }
    return closes ? out + " -> the first" : out;
}

/// Lost groups of one shape whose roots were born at one stack: a paragraph of the report.
struct AlikeGroups {
    std::vector<const LostGroup*> groups;
    std::vector<Block> roots;
    bool under_older = false; ///< the roots are no survivors themselves
    std::size_t blocks = 0;   ///< survivors
    std::uint64_t bytes = 0;
};

/// Largest first.
std::vector<AlikeGroups> alike(const std::vector<LostGroup>& lost)
{
    using Shape = std::tuple<const Frame*, bool, std::size_t, std::size_t>;
    std::map<Shape, AlikeGroups> by_shape;
    for (const LostGroup& group : lost) {
        const bool under_older = std::none_of(group.blocks.begin(), group.blocks.end(),
                                              [&](const Block& block) { return block.address == group.root.address; });
        AlikeGroups& all = by_shape[{group.root.stack.begin(), under_older, group.cycle.size(), group.blocks.size()}];
        all.groups.push_back(&group);
        all.roots.push_back(group.root);
        all.under_older = under_older;
        all.blocks += group.blocks.size();
        all.bytes += group.blocks.bytes();
    }
    std::vector<AlikeGroups> sorted;
    for (auto& [shape, all] : by_shape) sorted.push_back(std::move(all));
    std::sort(sorted.begin(), sorted.end(), [](const AlikeGroups& a, const AlikeGroups& b) {
        return std::tuple(b.bytes, b.blocks, a.roots[0].address) < std::tuple(a.bytes, a.blocks, b.roots[0].address);
    });
    return sorted;
}

void append_lost(std::string& out, const AlikeGroups& all, TextContext& context)
{
    const LostGroup& first = *all.groups[0];
    const std::size_t count = all.groups.size();
    out +=
        "\n" + context.paint(Ink::group, "lost: " + count_of(all.blocks, "block") + ", " + bytes_in_words(all.bytes));
    out += "  " + traits_in_words(Snapshot::of(all.roots), context.names) + "\n";
    if (all.under_older)
        out += count == 1 ? "  under an older lost block of " + bytes_in_words(first.root.size) + ", born here:\n"
                          : "  under " + count_of(count, "older lost block") + ", born here:\n";
    if (!first.cycle.empty())
        out += (count == 1 ? "  cycle: " : "  " + count_of(count, "cycle") + ", the first: ") +
               steps_in_words(first.cycle, true, context.names) + "\n";
    const std::size_t others = first.blocks.size() - (all.under_older ? 0 : 1);
    if (others > first.cycle.size() || (others > 0 && first.cycle.empty()))
        out += (count == 1 ? "  the root and what only it leads to: "
                           : "  " + count_of(count, "root") + " and what only they lead to: ") +
               count_of(others * count, "other survivor") + "\n";
    append_stack(out, first.root.stack, context);
}

/// The last pointer of the way: "global 'registry' (app)", "std::vector<Node*> buffer, 64 bytes +8, made by add(Node*)".
std::string pointer_to_cut(const Path& path, analyse::Names& names)
{
    if (path.steps.size() < 2) return root_in_words(path.root);
    const Step& holder = path.steps[path.steps.size() - 2];
    std::string out = block_in_words(holder.block, names) + " +" + std::to_string(holder.offset);
    const analyse::CallSite site = analyse::call_site(holder.block.stack, names);
    if (site.call != nullptr && !site.call->short_function.empty())
        out += ", made by " + std::string(site.call->short_function);
    return out;
}

void append_held(std::string& out, const Cluster& cluster, TextContext& context)
{
    out += "\n" + context.paint(Ink::group, "held: " + count_of(cluster.blocks.size(), "block") + ", " +
                                                bytes_in_words(cluster.blocks.bytes()));
    out += "  by " + path_in_words(cluster.path, context.names) + "\n";
    out += "  drop the pointer in: " + pointer_to_cut(cluster.path, context.names) + "\n";
    if (cluster.entries > 1) out += "  which points to " + grouped_digits(cluster.entries) + " of them\n";
    if (!cluster.path.steps.empty()) append_stack(out, cluster.path.steps.back().block.stack, context);
}

} // namespace

std::string path_in_words(const Path& path, analyse::Names& names)
{
    return root_in_words(path.root) + " -> " + steps_in_words(path.steps, false, names);
}

std::string explanation_text(const ExplanationView& why, const TextOptions& options, bool color, analyse::Names& names)
{
    return whole_report(color,
                        [&](LeftOut& left_out) { return explanation_part(why, options, color, names, left_out); });
}

std::string explanation_part(const ExplanationView& why, const TextOptions& options, bool color, analyse::Names& names,
                             LeftOut& left_out)
{
    TextContext context{options, Paint(color), names};
    std::string out;
    if (!why.problem.empty())
        out += context.paint(Ink::warning, "could not check: ") + std::string(why.problem) +
               "; what is called lost here may be held\n";
    if (why.lost.empty() && why.held.empty()) return out + "no survivors to explain\n";

    const auto part = [](const Snapshot& blocks) {
        return count_of(blocks.size(), "block") + ", " + bytes_in_words(blocks.bytes());
    };
    out += context.paint(Ink::summary, "lost: " + part(why.lost) + "; held: " + part(why.held));
    if (!why.gone.empty()) out += "; freed since: " + count_of(why.gone.size(), "block");
    out += "\n";

    const std::vector<AlikeGroups> lost = alike(why.lost_groups);
    const std::size_t all = lost.size() + why.clusters.size();
    const std::size_t shown = options.max_groups == 0 ? all : std::min(all, options.max_groups);
    for (std::size_t i = 0; i < shown; ++i) {
        if (i < lost.size())
            append_lost(out, lost[i], context);
        else
            append_held(out, why.clusters[i - lost.size()], context);
    }
    if (shown < all) left_out.add(count_of(all - shown, "group"), "max_groups=0");
    left_out.add_folded_frames(context);
    return out;
}

} // namespace heapmark::report
