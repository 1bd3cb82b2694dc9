// SPDX-License-Identifier: BSL-1.0
#include "adapters/finding_text.hpp"

#include "analyse/group.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace heapmark::adapters {

std::string in_words(std::uint64_t blocks, std::uint64_t bytes)
{
    return std::to_string(blocks) + (blocks == 1 ? " block, " : " blocks, ") + std::to_string(bytes) +
           (bytes == 1 ? " byte" : " bytes");
}

std::string in_words(const Snapshot& blocks) { return in_words(blocks.size(), blocks.bytes()); }

std::string site_of(const suppress::NamedStack& stack)
{
    const suppress::NamedCall* site = stack.site_call();
    if (site == nullptr) return "(no stack)";
    if (!site->bare_name.empty()) return site->bare_name;
    return site->module.empty() ? "(unknown)" : std::string(site->module.substr(site->module.rfind('/') + 1));
}

std::vector<Snapshot> by_stack_of(const Snapshot& blocks)
{
    // The copies of a call that the compiler makes when it unrolls a loop differ in addresses, and in nothing to read.
    std::map<std::vector<std::string_view>, std::vector<Snapshot>> alike;
    for (Snapshot& part : analyse::split_by_stack(blocks)) {
        const suppress::NamedStack& names = suppress::names_of(part[0].stack);
        std::vector<std::string_view> lines;
        for (std::size_t i = names.site; i < names.end; ++i) lines.push_back(names.calls[i]->line);
        alike[std::move(lines)].push_back(std::move(part));
    }

    std::vector<Snapshot> snapshots;
    for (auto& [lines, parts] : alike) {
        const auto is_in = [&parts = parts](const Block& block) {
            return std::any_of(parts.begin(), parts.end(),
                               [&](const Snapshot& part) { return part[0].stack == block.stack; });
        };
        snapshots.push_back(parts.size() == 1 ? std::move(parts[0]) : blocks.filter(is_in));
    }
    std::stable_sort(snapshots.begin(), snapshots.end(),
                     [](const Snapshot& a, const Snapshot& b) { return a.bytes() > b.bytes(); });
    return snapshots;
}

std::string in_words(const Root& root)
{
    const std::string name(root.name);
    const std::string thread = " of thread " + std::to_string(static_cast<std::uint32_t>(root.thread));
    switch (root.kind) {
    case Root::Kind::data:
        if (!name.empty()) return "global " + name;
        if (root.module.empty()) return "a global";
        return "a global of " + std::string(root.module.substr(root.module.rfind('/') + 1));
    case Root::Kind::thread_storage: return "thread_local " + (name.empty() ? "data" : name) + thread;
    case Root::Kind::thread_key: return "pthread_setspecific" + thread;
    case Root::Kind::thread_argument: return "the argument" + thread;
    case Root::Kind::stack: return "a variable" + (name.empty() ? thread : " of " + name);
    case Root::Kind::registers: return "a register" + thread;
    case Root::Kind::annotated: return "the region " + name;
    case Root::Kind::loader: return "the dynamic loader";
    }
    return "something";
}

Finding finding_at(const suppress::NamedStack& names)
{
    Finding finding;
    finding.site = site_of(names);
    if (const suppress::NamedCall* place = names.place()) {
        finding.file = place->call.file;
        finding.line = place->call.line;
    }
    return finding;
}

Finding finding_of(const std::string& test, const Snapshot& stack, const std::string& what,
                   const std::string& source_root)
{
    const suppress::NamedStack& names = suppress::names_of(stack[0].stack);
    Finding finding = finding_at(names);
    finding.blocks = stack;
    finding.title = "heapmark: " + test + " left " + in_words(stack) + what;
    finding.text = suppress::stack_lines(names, source_root);
    finding.text += "asked for with " + std::string(to_string(stack[0].api));
    if (stack[0].thread != this_thread())
        finding.text +=
            " by thread " + std::to_string(static_cast<std::uint32_t>(stack[0].thread)) + ", which the test started";
    if (!stack[0].tag.empty()) finding.text += ", tag \"" + std::string(stack[0].tag) + "\"";
    return finding;
}

Finding told_before(const std::string& test, const std::vector<Finding>& findings, const std::string& source_root)
{
    Finding all;
    all.told_before = true;
    all.site = findings.front().site;
    all.file = findings.front().file;
    all.line = findings.front().line;
    Counts counts;
    for (const Finding& finding : findings) {
        counts.blocks += finding.blocks.size();
        counts.bytes += finding.blocks.bytes();
        all.text += "  " + in_words(finding.blocks) + "  " + finding.site;
        if (!finding.file.empty())
            all.text +=
                "  " + std::string(suppress::below(source_root, finding.file)) + ":" + std::to_string(finding.line);
        all.text += "\n";
    }
    all.title = "heapmark: " + test + " left " + in_words(counts.blocks, counts.bytes) +
                ", and more each time, as an earlier run has told";
    return all;
}

std::string held_line(const Snapshot& stack, const Explanation& why, const std::string& source_root)
{
    const suppress::NamedStack& names = suppress::names_of(stack[0].stack);
    std::string line = "  " + in_words(stack) + "  " + site_of(names);
    if (const suppress::NamedCall* place = names.place())
        line +=
            "  " + std::string(suppress::below(source_root, place->call.file)) + ":" + std::to_string(place->call.line);
    Path path;
    std::set<std::string> holders;
    for (const Block& block : stack) { // the nearest holder is told; which block comes first is chance
        Path other = why.path(block.address);
        holders.insert(in_words(other.root));
        if (path.steps.empty() || other.steps.size() < path.steps.size()) path = std::move(other);
    }
    if (path.steps.empty()) return line + "\n";
    const std::string holder = in_words(path.root);
    line += "  held by " + holder;
    if (path.steps.size() > 1)
        line += " through " + std::to_string(path.steps.size() - 1) + (path.steps.size() == 2 ? " block" : " blocks");
    holders.erase(holder);
    if (!holders.empty())
        line +=
            ", and by " + (holders.size() == 1 ? *holders.begin() : std::to_string(holders.size()) + " other holders");
    return line + "\n";
}

} // namespace heapmark::adapters
