// SPDX-License-Identifier: BSL-1.0
// The last line of a report: what it does not show, and the options that would.
#pragma once

#include "report/stack_text.hpp"

#include <string>

namespace heapmark::report {

class LeftOut {
public:
    /// `option` may be empty when nothing shows it.
    void add(std::string what, std::string_view option);
    void add_folded_frames(const TextContext& context);
    void append_to(std::string& out, const TextContext& context) const;

private:
    std::string what_;
    std::string options_;
};

} // namespace heapmark::report
