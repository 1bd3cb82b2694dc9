// SPDX-License-Identifier: BSL-1.0
// Faults in words: what was done, to which block, where, and where the block was born. Equal ones are told once.
#include "report/left_out.hpp"
#include "report/stack_text.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <charconv>

namespace heapmark::report {

namespace {

struct Repeated {
    const Fault* fault;
    std::size_t count;
};

bool same_mistake(const Fault& a, const Fault& b) noexcept
{
    return a.kind == b.kind && a.mismatch == b.mismatch && a.stack == b.stack && a.birth.stack == b.birth.stack &&
           a.birth.api == b.birth.api && std::string_view(a.released_by) == b.released_by;
}

std::vector<Repeated> distinct(const std::vector<Fault>& faults)
{
    std::vector<Repeated> list;
    for (const Fault& fault : faults) {
        const auto known =
            std::find_if(list.begin(), list.end(), [&](const Repeated& r) { return same_mistake(*r.fault, fault); });
        if (known != list.end())
            ++known->count;
        else
            list.push_back({&fault, 1});
    }
    return list;
}

std::string hexadecimal(const void* address)
{
    char digits[18];
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    return "0x" + std::string(digits, std::to_chars(digits, digits + sizeof digits, value, 16).ptr);
}

std::string what_was_done(const Fault& fault)
{
    const std::string by = fault.released_by;
    const std::string born = to_string(fault.birth.api);
    switch (fault.kind) {
    case Fault::Kind::double_free: return "block released twice, the second time with " + by;
    case Fault::Kind::unknown_free: return by + " of an address that was never seen allocated";
    case Fault::Kind::mismatched_release: break;
    }
    switch (fault.mismatch) {
    case Fault::Mismatch::size:
        return born + " of " + bytes_in_words(fault.birth.size) + " released with " + by + " as " +
               bytes_in_words(fault.stated);
    case Fault::Mismatch::alignment:
        return born + " released with " + by + " for an alignment of " + std::to_string(fault.stated);
    case Fault::Mismatch::none:
    case Fault::Mismatch::function: break;
    }
    return born + " released with " + by;
}

std::string summary(const Faults& faults)
{
    std::string parts;
    const auto add = [&](std::uint64_t count, std::string_view noun) {
        if (count != 0) parts += (parts.empty() ? "" : ", ") + count_of(count, noun);
    };
    add(faults.mismatched_releases, "mismatched release");
    add(faults.double_frees, "double free");
    add(faults.unknown_frees, "unknown free");
    return parts;
}

void append_thread(std::string& out, ThreadId thread)
{
    if (thread != ThreadId{}) out += "  thread " + std::to_string(static_cast<std::uint32_t>(thread));
}

void append_fault(std::string& out, const Repeated& repeated, TextContext& context)
{
    const Fault& fault = *repeated.fault;
    out += "\n" + context.paint(Ink::group, what_was_done(fault));
    if (repeated.count > 1) out += "  (" + count_of(repeated.count, "time") + ", shown is the first)";
    out += "\n  released";
    append_thread(out, fault.thread);
    out += "  address " + hexadecimal(fault.address) + "\n";
    append_stack(out, fault.stack, context);
    if (fault.birth.address == nullptr) return;
    const Block& birth = fault.birth;
    out +=
        "  born  " + bytes_in_words(birth.size) + "  " + traits_in_words(Snapshot::of({birth}), context.names) + "\n";
    append_stack(out, birth.stack, context);
}

} // namespace

std::string faults_text(const Faults& faults, const TextOptions& options, bool color, analyse::Names& names)
{
    return whole_report(color, [&](LeftOut& left_out) { return faults_part(faults, options, color, names, left_out); });
}

std::string faults_part(const Faults& faults, const TextOptions& options, bool color, analyse::Names& names,
                        LeftOut& left_out)
{
    const std::uint64_t total = faults.mismatched_releases + faults.double_frees + faults.unknown_frees;
    if (total == 0) return "no faults\n";

    TextContext context{options, Paint(color), names};
    std::string out = context.paint(Ink::summary, count_of(total, "fault")) + ": " + summary(faults) + "\n";
    const std::vector<Repeated> list = distinct(faults.details);
    const std::size_t shown = options.max_groups == 0 ? list.size() : std::min(list.size(), options.max_groups);
    for (std::size_t i = 0; i < shown; ++i) append_fault(out, list[i], context);

    if (shown < list.size()) left_out.add(count_of(list.size() - shown, "different fault"), "max_groups=0");
    if (faults.details.size() < total)
        left_out.add(count_of(total - faults.details.size(), "fault") + " of which no details were kept", "");
    left_out.add_folded_frames(context);
    return out;
}

} // namespace heapmark::report
