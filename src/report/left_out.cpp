// SPDX-License-Identifier: BSL-1.0
#include "report/left_out.hpp"

namespace heapmark::report {

void LeftOut::add(std::string what, std::string_view option)
{
    what_ += (what_.empty() ? "" : ", ") + what;
    if (!option.empty()) options_ += (options_.empty() ? "" : ":") + std::string(option);
}

void LeftOut::add_folded_frames(const TextContext& context)
{
    if (context.frames_folded) add("frames of allocator, C++ library and start-up", "plumbing=1");
}

void LeftOut::append_to(std::string& out, const TextContext& context) const
{
    if (what_.empty()) return;
    std::string line = "left out: " + what_;
    if (!options_.empty()) line += "; HEAPMARK_OPTIONS=" + options_ + " shows more";
    out += "\n" + context.paint(Ink::faint, line) + "\n";
}

} // namespace heapmark::report
