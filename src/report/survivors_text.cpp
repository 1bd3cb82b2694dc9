// SPDX-License-Identifier: BSL-1.0
#include "report/text.hpp"

#include "analyse/group.hpp"
#include "report/left_out.hpp"
#include "report/stack_text.hpp"

#include <algorithm>

namespace heapmark::report {

namespace {

void append_summary(std::string& out, const Snapshot& snapshot, std::size_t stacks, const TextContext& context)
{
    const std::string range = range_in_words(snapshot.first(), snapshot.last(), context.names);
    if (snapshot.empty()) {
        out += "no survivors " + range + "\n";
        return;
    }
    out += context.paint(Ink::summary, count_of(snapshot.size(), "survivor") + ", " + bytes_in_words(snapshot.bytes()));
    out += ", born " + range + " (" + count_of(stacks, "call stack") + ")\n";
}

void append_group(std::string& out, const Snapshot& group, TextContext& context)
{
    out += "\n" + context.paint(Ink::group, count_of(group.size(), "block") + ", " + bytes_in_words(group.bytes()));
    out += "  " + traits_in_words(group, context.names) + "\n";
    append_stack(out, group[0].stack, context);
}

} // namespace

std::string survivors_text(const Snapshot& snapshot, const TextOptions& options, bool color, analyse::Names& names)
{
    return whole_report(color,
                        [&](LeftOut& left_out) { return survivors_part(snapshot, options, color, names, left_out); });
}

std::string survivors_part(const Snapshot& snapshot, const TextOptions& options, bool color, analyse::Names& names,
                           LeftOut& left_out)
{
    TextContext context{options, Paint(color), names};
    const std::vector<Snapshot> groups = analyse::split_by_stack(snapshot);
    const std::size_t shown = options.max_groups == 0 ? groups.size() : std::min(groups.size(), options.max_groups);

    std::string out;
    append_summary(out, snapshot, groups.size(), context);
    if (snapshot.unrecorded() != 0)
        out += context.paint(Ink::warning, "warning: ") + count_of(snapshot.unrecorded(), "allocation") +
               " could not be recorded for want of memory, so survivors may be missing here\n";
    for (std::size_t i = 0; i < shown; ++i) append_group(out, groups[i], context);

    if (shown < groups.size()) {
        Counts hidden;
        for (std::size_t i = shown; i < groups.size(); ++i) {
            hidden.blocks += groups[i].size();
            hidden.bytes += groups[i].bytes();
        }
        left_out.add(count_of(groups.size() - shown, "call stack") + " (" + count_of(hidden.blocks, "block") + ", " +
                         bytes_in_words(hidden.bytes) + ")",
                     "max_groups=0");
    }
    left_out.add_folded_frames(context);
    return out;
}

} // namespace heapmark::report
