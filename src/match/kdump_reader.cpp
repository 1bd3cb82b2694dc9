// SPDX-License-Identifier: BSL-1.0
#include "match/kdump_reader.hpp"

#include <algorithm>

namespace heapmark::match {
namespace {

using What = KdumpLine::What;

/// Warnings about lines that cannot be read, of each text; all are counted.
constexpr std::uint64_t malformed_shown = 20;

/// For the log: the record as it was understood.
std::string in_words(const KdumpLine& line)
{
    switch (line.what) {
    case What::begin: return "record: malloc begins";
    case What::allocate: return "record: malloc of " + std::to_string(line.bytes);
    case What::reallocate: return "record: realloc to " + std::to_string(line.bytes);
    case What::release: return "record: free";
    case What::fork_call:
    case What::fork_return:
    case What::fork_failed: return "record: fork";
    case What::exec: return "record: exec";
    case What::exit: return "record: exit";
    default: return {};
    }
}

} // namespace

KdumpCounts KdumpReader::read(LineReader& lines, std::uint32_t source)
{
    KdumpCounts counts;
    std::array<KdumpLine, LineReader::most_lines> read;
    for (;;) {
        const std::span<const std::string_view> texts = lines.next();
        if (texts.empty()) return counts;
        // A few lines ahead, since most of the time goes to waiting for the tables.
        for (std::size_t i = 0; i < texts.size(); ++i) {
            read[i] = read_kdump_line(texts[i]);
            if (const Process* process = matcher_.known_process(read[i].process)) {
                process->blocks.prefetch(read[i].address);
                if (read[i].old != 0) process->blocks.prefetch(read[i].old);
            }
        }
        for (std::size_t i = 0; i < texts.size(); ++i)
            read_line(read[i], texts[i], Place::of(source, ++counts.lines), counts);
    }
}

void KdumpReader::read_line(const KdumpLine& line, std::string_view text, Place place, KdumpCounts& counts)
{
    if (line.what != What::foreign) ++counts.of_kdump;
    if (listener_.wants(Verbosity::records)) [[unlikely]] {
        const bool matched = line.what > What::malformed;
        if (listener_.wants(matched ? Verbosity::matched : Verbosity::lines)) listener_.log(place, text);
        if (matched) listener_.log(place, in_words(line));
    }
    switch (line.what) {
    case What::foreign:
    case What::other: break;
    case What::malformed:
        if (++counts.malformed <= malformed_shown)
            listener_.warn(place, "skipped, since it is no whole record: " + std::string(text.substr(0, 200)));
        break;
    case What::begin:
    case What::allocate:
    case What::reallocate:
    case What::release:
        ++counts.records;
        record(line, {place, text});
        break;
    default: process_record(line, place);
    }
}

void KdumpReader::record(const KdumpLine& line, const Matcher::Record& record)
{
    Process* known = matcher_.known_process(line.process);
    if (known == nullptr) {
        if (line.what != What::begin) adopt(line.process, line.program, record.place);
        known = &matcher_.process(line.process, line.program, record.place);
    }
    Process& process = *known;
    switch (line.what) {
    case What::begin: begin(process, line, record.place); break;
    case What::allocate:
        if (line.address == 0)
            matcher_.fail(process, record);
        else
            matcher_.allocate(process, line.address, line.bytes, record);
        break;
    case What::reallocate: matcher_.reallocate(process, line.old, line.address, line.bytes, record); break;
    default:
        if (line.address != 0) matcher_.release(process, line.address, record); // free(NULL) is nothing
    }
}

/// malloc begins once in a program: what was before it was another one. In the same trace that was replaced by exec, which
/// leaves no leaks; a process of an earlier trace was a run of its own.
void KdumpReader::begin(Process& process, const KdumpLine& line, Place place)
{
    if (process.first_source != place.source())
        matcher_.end(process);
    else
        matcher_.forget_blocks(process);
    process.first_source = place.source();
    process.program = line.program;
}

void KdumpReader::process_record(const KdumpLine& line, Place place)
{
    const auto forking = std::find(forking_.begin(), forking_.end(), line.process);
    Process* const process = matcher_.known_process(line.process);
    switch (line.what) {
    case What::fork_call:
        if (forking == forking_.end()) forking_.push_back(line.process);
        break;
    case What::fork_return:
        if (line.child == 0) {
            if (process == nullptr) adopt(line.process, line.program, place);
            break;
        }
        if (process != nullptr) matcher_.fork(*process, line.child, place);
        [[fallthrough]];
    case What::fork_failed:
        if (forking != forking_.end()) forking_.erase(forking);
        break;
    case What::exec:
        if (process != nullptr) matcher_.forget_blocks(*process);
        break;
    default: // exit
        if (process != nullptr) matcher_.end(*process);
    }
}

/// A process that is new: the child of the one inside a fork, of several the one that began it last under that name.
void KdumpReader::adopt(std::uint32_t child, std::string_view program, Place place)
{
    for (auto parent = forking_.rbegin(); parent != forking_.rend(); ++parent) {
        Process* const process = matcher_.known_process(*parent);
        if (process == nullptr || process->program != program) continue;
        matcher_.fork(*process, child, place);
        return;
    }
}

} // namespace heapmark::match
