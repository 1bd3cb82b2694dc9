// SPDX-License-Identifier: BSL-1.0
#include "match/matcher.hpp"

#include <algorithm>
#include <bit>
#include <charconv>

namespace heapmark::match {
namespace {

using State = Entry::State;

std::string hex(std::uint64_t address)
{
    char digits[16];
    return "0x" + std::string(digits, std::to_chars(digits, digits + sizeof digits, address, 16).ptr);
}

} // namespace

Totals& Totals::operator+=(const Totals& more) noexcept
{
    allocations += more.allocations;
    reallocations += more.reallocations;
    releases += more.releases;
    failed += more.failed;
    double_frees += more.double_frees;
    unknown_frees += more.unknown_frees;
    allocated_twice += more.allocated_twice;
    older += more.older;
    return *this;
}

Process* Matcher::known_process(std::uint32_t id)
{
    if (last_ != nullptr && last_->id == id) return last_;
    const auto found = processes_.find(id);
    if (found == processes_.end()) return nullptr;
    return last_ = found->second.get();
}

Process& Matcher::process(std::uint32_t id, std::string_view program, Place place)
{
    if (Process* const known = known_process(id)) return *known;
    last_ = processes_.emplace(id, std::make_unique<Process>()).first->second.get();
    last_->id = id;
    last_->program = program;
    last_->first_source = place.source();
    in_order_.push_back(last_);
    last_->blocks.set_allowance(allowance());
    // All together remember what one would, or twice as much.
    if (std::has_single_bit(in_order_.size()))
        for (Process* process : in_order_) process->blocks.set_allowance(allowance());
    return *last_;
}

void Matcher::note(const Process& process, const Record& record, std::string_view what, std::uint64_t address,
                   std::uint64_t bytes)
{
    std::string text(what);
    text += " " + hex(address) + ", " + std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
    if (process.id != 0) text += ", process " + std::to_string(process.id);
    listener_.log(record.place, text);
}

void Matcher::wrong(const Process& process, const Record& record, std::string_view what, std::uint64_t address,
                    const Entry* earlier)
{
    std::string text(what);
    text += " " + hex(address);
    if (process.id != 0) text += " in process " + std::to_string(process.id);
    if (earlier != nullptr) {
        text += earlier->alive() ? ", allocated at line " : ", released at line ";
        text += std::to_string(earlier->place.line());
        if (earlier->place.source() != record.place.source()) text += " of an earlier trace";
    }
    listener_.warn(record.place, text);
}

void Matcher::allocate(Process& process, std::uint64_t address, std::uint64_t bytes, const Record& record)
{
    Entry& entry = process.blocks.add(address);
    if (entry.alive()) [[unlikely]] {
        if (entry.state != State::resizing) { // else it has moved away, and that is not yet in the trace
            ++process.totals.allocated_twice;
            wrong(process, record, "allocated twice:", address, &entry);
        }
        texts_.drop(entry.text);
    }
    entry.bytes = bytes;
    entry.place = record.place;
    entry.text = texts_.keep(record.text);
    entry.state = State::live;
    ++process.totals.allocations;
    if (listener_.wants(Verbosity::events)) [[unlikely]]
        note(process, record, "allocated", address, bytes);
}

void Matcher::excuse(Process& process, std::uint64_t address)
{
    Entry* const entry = process.blocks.find(address);
    if (entry == nullptr || !entry->alive()) return;
    texts_.drop(entry->text);
    entry->text = 0;
    entry->state = State::excused;
}

void Matcher::release_of_no_block(Process& process, std::uint64_t address, const Record& record, Release how,
                                  const Entry* earlier)
{
    if (how == Release::right) {
        ++process.totals.older;
        return;
    }
    std::string what = how == Release::by_realloc ? "realloc" : "free";
    if (earlier != nullptr) {
        ++process.totals.double_frees;
        wrong(process, record, how == Release::by_realloc ? "realloc after free of" : "double free of", address,
              earlier);
        return;
    }
    ++process.totals.unknown_frees;
    what += " of an address that was never allocated";
    what += process.blocks.has_forgotten() ? ", or was released long ago:" : ":";
    wrong(process, record, what, address, nullptr);
}

void Matcher::release(Process& process, std::uint64_t address, const Record& record, Release how)
{
    Entry* const entry = process.blocks.find(address);
    if (entry == nullptr || !entry->alive()) [[unlikely]] {
        release_of_no_block(process, address, record, how, entry);
        return;
    }
    if (listener_.wants(Verbosity::events)) [[unlikely]]
        note(process, record, "released", address, entry->bytes);
    texts_.drop(entry->text);
    entry->text = 0;
    entry->place = record.place;
    entry->state = State::released;
    ++process.totals.releases;
}

void Matcher::begin_resize(Process& process, std::uint64_t old, const Record& record, Release how)
{
    Entry* const entry = process.blocks.find(old);
    if (entry == nullptr || !entry->alive())
        release_of_no_block(process, old, record, how, entry);
    else
        entry->state = State::resizing;
}

void Matcher::end_resize(Process& process, std::uint64_t old, std::uint64_t address, std::uint64_t bytes,
                         const Record& record)
{
    Entry* const entry = process.blocks.find(old);
    const bool still_there = entry != nullptr && entry->state == State::resizing;
    if (address == 0) {
        if (still_there) entry->state = entry->text == 0 ? State::excused : State::live;
        fail(process, record);
        return;
    }
    if (still_there) {
        if (listener_.wants(Verbosity::events)) [[unlikely]]
            note(process, record, "resized", old, entry->bytes);
        texts_.drop(entry->text);
        entry->text = 0;
        entry->place = record.place;
        entry->state = State::released;
    }
    allocate(process, address, bytes, record);
    --process.totals.allocations;
    ++process.totals.reallocations;
}

void Matcher::reallocate(Process& process, std::uint64_t old, std::uint64_t address, std::uint64_t bytes,
                         const Record& record)
{
    if (address != 0) begin_resize(process, old, record, Release::by_realloc);
    end_resize(process, old, address, bytes, record);
}

void Matcher::fail(Process& process, const Record& record)
{
    ++process.totals.failed;
    if (listener_.wants(Verbosity::events)) [[unlikely]]
        listener_.log(record.place, "a call that failed");
}

void Matcher::fork(Process& parent, std::uint32_t child_id, Place place)
{
    if (known_process(child_id) != nullptr) return;
    Process& child = process(child_id, parent.program, place);
    parent.blocks.for_live([&](const Entry& entry) {
        Entry& copy = child.blocks.add(entry.address);
        copy.bytes = entry.bytes;
        copy.place = entry.place;
        copy.state = State::excused;
    });
}

void Matcher::forget_blocks(Process& process)
{
    process.blocks.for_live([&](const Entry& entry) { texts_.drop(entry.text); });
    process.blocks = BlockTable(allowance());
}

std::uint64_t Matcher::end(Process& process)
{
    std::uint64_t excused = 0;
    std::vector<Entry> left;
    process.blocks.for_live([&](const Entry& entry) {
        if (entry.state == State::excused)
            ++excused;
        else if (entry.text != 0)
            left.push_back(entry);
    });
    std::sort(left.begin(), left.end(), [](const Entry& a, const Entry& b) { return a.place < b.place; });
    process.left_at_end.reserve(process.left_at_end.size() + left.size());
    std::string text;
    for (std::size_t i = 0; i < left.size(); ++i) {
        constexpr std::size_t ahead = 16; // the texts lie all over their pool
        if (i + ahead < left.size()) texts_.prefetch(left[i + ahead].text);
        const Entry& entry = left[i];
        texts_.read(entry.text, text);
        texts_.drop(entry.text);
        process.left_at_end.push_back({entry.place, entry.address, entry.bytes, process.texts.keep(text), 0});
    }
    process.blocks = BlockTable(allowance()); // no other entry has a text
    return excused;
}

std::vector<Leaks> Matcher::finish()
{
    std::vector<Leaks> all;
    for (Process* process : in_order_) {
        Leaks leaks;
        leaks.excused_blocks = end(*process);
        leaks.process = process->id;
        leaks.program = process->program;
        leaks.totals = process->totals;
        leaks.blocks = std::move(process->left_at_end);
        leaks.texts = std::move(process->texts);
        for (const Leak& leak : leaks.blocks) leaks.bytes += leak.bytes;
        all.push_back(std::move(leaks));
    }
    return all;
}

} // namespace heapmark::match
