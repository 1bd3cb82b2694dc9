// SPDX-License-Identifier: BSL-1.0
#include "match/leaks_text.hpp"

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
    out += "  " + leak.text + "\n";
}

std::string sums(std::uint64_t blocks, std::uint64_t bytes)
{
    return count_of(blocks, "block") + ", " + count_of(bytes, "byte") + " leaked";
}

std::string process_line(const Leaks& leaks)
{
    std::string line = "process " + std::to_string(leaks.process) + " " + leaks.program + ": ";
    line += sums(leaks.blocks.size(), leaks.bytes);
    if (leaks.inherited_blocks != 0)
        line += "; " + count_of(leaks.inherited_blocks, "block") + " of its parent's still there";
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

std::string leaks_text(const Matched& matched)
{
    std::string text;
    if (matched.leaked_blocks() == 0) return text;
    for (const Leaks& leaks : matched.processes) {
        for (const Leak& leak : leaks.blocks) append_leak(text, leak, matched);
        if (matched.processes.size() > 1 && !leaks.blocks.empty()) text += process_line(leaks);
    }
    return text + totals_text(matched);
}

} // namespace heapmark::match
