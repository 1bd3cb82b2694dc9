// SPDX-License-Identifier: BSL-1.0
#include "adapters/finding_text.hpp"

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
    std::map<std::string, std::vector<Stack>> alike;
    for (const Group& group : blocks.group_by(by_stack))
        alike[suppress::stack_lines(suppress::names_of(group.front().stack), "")].push_back(group.front().stack);

    std::vector<Snapshot> snapshots;
    for (const auto& [lines, stacks] : alike)
        snapshots.push_back(blocks.filter([&stacks = stacks](const Block& block) {
            return std::find(stacks.begin(), stacks.end(), block.stack) != stacks.end();
        }));
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
    Path path = why.path(stack[0].address);
    for (const Block& block : stack) // the nearest holder; which block comes first is chance
        if (Path other = why.path(block.address); other.steps.size() < path.steps.size()) path = std::move(other);
    if (path.steps.empty()) return line + "\n";
    const std::string holder = in_words(path.root);
    line += "  held by " + holder;
    if (path.steps.size() > 1)
        line += " through " + std::to_string(path.steps.size() - 1) + (path.steps.size() == 2 ? " block" : " blocks");
    std::set<std::string> others;
    for (const Block& block : stack) others.insert(in_words(why.path(block.address).root));
    others.erase(holder);
    if (!others.empty())
        line += ", and by " + (others.size() == 1 ? *others.begin() : std::to_string(others.size()) + " other holders");
    return line + "\n";
}

} // namespace heapmark::adapters
