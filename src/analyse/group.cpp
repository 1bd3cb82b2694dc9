// SPDX-License-Identifier: BSL-1.0
#include "analyse/group.hpp"

#include "analyse/immortal_text.hpp"
#include "snapshot/snapshot_access.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <unordered_map>

namespace heapmark::analyse {

namespace {

std::size_t hash_of(const Stack& stack) noexcept
{
    std::uint64_t hash = 0x9e37'79b9'7f4a'7c15;
    for (const Frame frame : stack) hash = (hash ^ frame.bits) * 0xff51'afd7'ed55'8ccd;
    return static_cast<std::size_t>(hash ^ (hash >> 32));
}

struct StackHash {
    std::size_t operator()(const Stack& stack) const noexcept { return hash_of(stack); }
};

std::string stack_label(const Stack& stack, Names& names)
{
    constexpr std::size_t shown_callers = 2;
    std::string label = call_site_label(stack, names);
    const CallSite site = call_site(stack, names);
    for (std::size_t i = site.frame_index + 1; i < stack.size() && i <= site.frame_index + shown_callers; ++i) {
        const FrameNames& frame = names.of_frame(stack[i]);
        label += " < " + call_label(frame, frame.calls.back());
        if (frame.calls.back().function == "main") break; // whoever calls it, nobody wants to know
    }
    return label;
}

std::string_view module_label(const Stack& stack, Names& names)
{
    const CallSite site = call_site(stack, names);
    if (site.frame == nullptr || site.frame->module.empty()) return "(no module)";
    return file_name(site.frame->module);
}

bool larger_snapshot(const Snapshot& a, const Snapshot& b) noexcept
{
    if (a.bytes() != b.bytes()) return a.bytes() > b.bytes();
    if (a.size() != b.size()) return a.size() > b.size();
    return std::less<>{}(a[0].address, b[0].address);
}

std::string_view label_of(const Block& block, GroupKey key, Names& names)
{
    switch (key) {
    case GroupKey::call_site: return intern_label(call_site_label(block.stack, names));
    case GroupKey::stack: return intern_label(stack_label(block.stack, names));
    case GroupKey::module: return intern_label(module_label(block.stack, names));
    case GroupKey::thread:
        if (block.thread == ThreadId{}) return "(unknown thread)";
        return intern_label("thread " + std::to_string(static_cast<std::uint32_t>(block.thread)));
    case GroupKey::generation: return intern_label(generation_label(block.generation, names));
    case GroupKey::type: {
        const std::string_view type = names.type_of(block);
        return type.empty() ? "(unknown type)" : intern_label(type);
    }
    case GroupKey::tag: return block.tag.empty() ? "(no tag)" : intern_label(block.tag);
    }
    return "";
}

bool depends_on_stack(GroupKey key) noexcept { return key == GroupKey::call_site || key == GroupKey::module; }

bool larger(const Group& a, const Group& b) noexcept
{
    if (a.bytes() != b.bytes()) return a.bytes() > b.bytes();
    if (a.size() != b.size()) return a.size() > b.size();
    if (a.label() != b.label()) return a.label() < b.label();
    return std::less<>{}(a.front().address, b.front().address);
}

} // namespace

CallSite call_site(const Stack& stack, Names& names)
{
    CallSite first;
    for (std::size_t i = 0; i < stack.size(); ++i) {
        const FrameNames& frame = names.of_frame(stack[i]);
        if (i == 0) first = {&frame, &frame.calls.front(), 0};
        for (const CallName& call : frame.calls)
            if (!call.plumbing) return {&frame, &call, i};
    }
    return first;
}

std::string call_label(const FrameNames& frame, const CallName& call)
{
    if (!call.short_function.empty()) return std::string(call.short_function);
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof digits, frame.offset, 16).ptr;
    const std::string offset = "0x" + std::string(digits, end);
    return frame.module.empty() ? offset : std::string(file_name(frame.module)) + "+" + offset;
}

std::string call_site_label(const Stack& stack, Names& names)
{
    const CallSite site = call_site(stack, names);
    if (site.frame == nullptr) return "(no stack)";
    std::string label = call_label(*site.frame, *site.call);
    if (!site.call->file.empty())
        label += " at " + std::string(file_name(site.call->file)) + ":" + std::to_string(site.call->line);
    else if (!site.call->function.empty() && !site.frame->module.empty())
        label += " in " + std::string(file_name(site.frame->module));
    return label;
}

std::string generation_label(Generation generation, Names& names)
{
    std::string label = "generation " + std::to_string(static_cast<std::uint64_t>(generation));
    if (const std::string_view name = names.of_generation(generation); !name.empty())
        label += " \"" + std::string(name) + "\"";
    return label;
}

std::vector<Snapshot> split_by_stack(const Snapshot& snapshot)
{
    std::unordered_map<Stack, std::size_t, StackHash> indices;
    std::vector<Snapshot> parts;
    for (const Block& block : snapshot) {
        const auto [known, is_new] = indices.try_emplace(block.stack, parts.size());
        if (is_new) parts.push_back(SnapshotAccess::without_blocks(snapshot));
        SnapshotAccess::append(parts[known->second], block);
    }
    std::sort(parts.begin(), parts.end(), larger_snapshot);
    return parts;
}

std::vector<Group> group(const Snapshot& snapshot, GroupKey key, Names& names)
{
    std::vector<Group> groups;
    if (key == GroupKey::stack) { // two stacks may read the same, and are two groups all the same
        for (Snapshot& part : split_by_stack(snapshot)) {
            const std::string_view label = label_of(part[0], key, names);
            groups.emplace_back(label, std::move(part));
        }
    } else {
        std::unordered_map<Stack, std::string_view, StackHash> labels; // names are looked up once a distinct stack
        std::unordered_map<std::string_view, std::size_t> indices;
        std::vector<std::string_view> keys;
        std::vector<Snapshot> parts;
        for (const Block& block : snapshot) {
            std::string_view label;
            if (depends_on_stack(key)) {
                const auto [known, is_new] = labels.try_emplace(block.stack);
                if (is_new) known->second = label_of(block, key, names);
                label = known->second;
            } else {
                label = label_of(block, key, names);
            }
            const auto [known, is_new] = indices.try_emplace(label, parts.size());
            if (is_new) {
                keys.push_back(label);
                parts.push_back(SnapshotAccess::without_blocks(snapshot));
            }
            SnapshotAccess::append(parts[known->second], block);
        }
        for (std::size_t i = 0; i < parts.size(); ++i) groups.emplace_back(keys[i], std::move(parts[i]));
    }
    std::sort(groups.begin(), groups.end(), larger);
    return groups;
}

} // namespace heapmark::analyse
