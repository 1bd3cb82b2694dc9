// SPDX-License-Identifier: BSL-1.0
// The last line of a report: what it does not show, and the options that would.
#pragma once

#include "report/stack_text.hpp"

#include <string>
#include <vector>

namespace heapmark::report {

/// Of a report in several parts there is one, to which each part adds.
class LeftOut {
public:
    /// `option` may be empty when nothing shows it. The same again says nothing more.
    void add(std::string what, std::string_view option);
    void add_folded_frames(const TextContext& context);
    void append_to(std::string& out, const Paint& paint) const;

private:
    std::vector<std::string> what_;
    std::vector<std::string> options_;
    bool frames_folded_ = false;
};

/// A report of one part alone, which `part(left_out)` returns.
template <class Part>
[[nodiscard]] std::string whole_report(bool color, Part part)
{
    LeftOut left_out;
    std::string out = part(left_out);
    left_out.append_to(out, Paint(color));
    return out;
}

} // namespace heapmark::report
