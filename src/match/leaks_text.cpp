// SPDX-License-Identifier: BSL-1.0
#include "match/leaks_text.hpp"

#include "report/stack_text.hpp"

#include <charconv>

namespace heapmark::match {
namespace {

/// "3532 bytes": without commas, since programs read this too.
std::string count_of(std::uint64_t count, std::string_view noun)
{
    return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

void append_leak(std::string& out, const Leak& leak, const Matched& matched)
{
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof digits, leak.address, 16).ptr;
    out += matched.sources[leak.place.source()] + ":" + std::to_string(leak.place.line()) + ": ";
    out += count_of(leak.bytes, "byte") + " at 0x" + std::string(digits, end) + " leaked\n";
    out += "  ";
    out += leak.text;
    out += "\n";
}

/// In the order of the records, but those of one stack together. Where there are no stacks each is a group.
std::vector<std::vector<const Leak*>> by_stack(const Leaks& leaks)
{
    std::vector<std::vector<const Leak*>> groups;
    std::unordered_map<std::uint64_t, std::size_t> group_of;
    for (const Leak& leak : leaks.blocks) {
        const std::uint64_t key = std::uint64_t{leak.place.source()} << 32 | leak.site;
        const auto [known, is_new] = group_of.try_emplace(key, groups.size());
        if (is_new || leak.site == 0) {
            known->second = groups.size();
            groups.emplace_back();
        }
        groups[known->second].push_back(&leak);
    }
    return groups;
}

void append_stack(std::string& out, const Leak& leak, const Matched& matched, const TextOptions& options, bool color)
{
    const auto stacks = matched.stacks.find(leak.place.source());
    if (stacks == matched.stacks.end()) return;
    report::TextContext context{options, report::Paint(color), *stacks->second};
    report::append_stack(out, stacks->second->stack(leak.site), context);
    out += "\n";
}

std::string sums(std::uint64_t blocks, std::uint64_t bytes)
{
    return count_of(blocks, "block") + ", " + count_of(bytes, "byte") + " leaked";
}

std::string process_line(const Leaks& leaks)
{
    std::string line = "process " + std::to_string(leaks.process) + " " + leaks.program + ": ";
    line += sums(leaks.blocks.size(), leaks.bytes);
    if (leaks.excused_blocks != 0)
        line += "; " + count_of(leaks.excused_blocks, "block") + " more from before a fork, or ignored";
    return line + "\n";
}

/// ", 2 double frees", nothing for 0
std::string more(std::uint64_t count, std::string_view noun)
{
    return count == 0 ? std::string{} : ", " + count_of(count, noun);
}

} // namespace

std::string totals_text(const Matched& matched)
{
    Totals all;
    for (const Leaks& leaks : matched.processes) all += leaks.totals;
    std::string text = "total: " + sums(matched.leaked_blocks(), matched.leaked_bytes()) + "\n";
    text += "read: " + count_of(all.allocations, "allocation") + ", " + count_of(all.reallocations, "reallocation") +
            ", " + count_of(all.releases, "release");
    text += more(all.failed, "failed call") + more(all.double_frees, "double free");
    text += more(all.unknown_frees, "free") + (all.unknown_frees == 0 ? "" : " of unknown addresses");
    text += more(all.allocated_twice, "allocation") + (all.allocated_twice == 0 ? "" : " at addresses in use");
    text += more(all.older, "release") + (all.older == 0 ? "" : " of blocks from before the trace");
    text += more(matched.malformed_lines, "line") + (matched.malformed_lines == 0 ? "" : " skipped") + "\n";
    return text;
}

std::string leaks_text(const Matched& matched, const TextOptions& options, bool color)
{
    std::string text;
    if (matched.leaked_blocks() == 0) return text;
    for (const Leaks& leaks : matched.processes) {
        for (const std::vector<const Leak*>& group : by_stack(leaks)) {
            for (const Leak* leak : group) append_leak(text, *leak, matched);
            append_stack(text, *group.front(), matched, options, color);
        }
        if (matched.processes.size() > 1 && !leaks.blocks.empty()) text += process_line(leaks);
    }
    return text + totals_text(matched);
}

} // namespace heapmark::match
