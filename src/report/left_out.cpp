// SPDX-License-Identifier: BSL-1.0
#include "report/left_out.hpp"

#include <algorithm>

namespace heapmark::report {

namespace {

constexpr std::string_view frames = "frames of allocator, C++ library and start-up";
constexpr std::string_view frames_option = "plumbing=1";

void add_once(std::vector<std::string>& list, std::string text)
{
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

std::string joined(const std::vector<std::string>& list, std::string_view separator)
{
    std::string all;
    for (const std::string& each : list) {
        if (!all.empty()) all += separator;
        all += each;
    }
    return all;
}

} // namespace

void LeftOut::add(std::string what, std::string_view option)
{
    add_once(what_, std::move(what));
    if (!option.empty()) add_once(options_, std::string(option));
}

void LeftOut::add_folded_frames(const TextContext& context)
{
    frames_folded_ = frames_folded_ || context.frames_folded;
}

void LeftOut::append_to(std::string& out, const Paint& paint) const
{
    LeftOut all = *this;
    if (frames_folded_) all.add(std::string(frames), frames_option);
    if (all.what_.empty()) return;
    std::string line = "left out: " + joined(all.what_, ", ");
    if (!all.options_.empty()) line += "; HEAPMARK_OPTIONS=" + joined(all.options_, ":") + " shows more";
    out += "\n" + paint(Ink::faint, line) + "\n";
}

} // namespace heapmark::report
