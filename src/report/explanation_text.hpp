// SPDX-License-Identifier: BSL-1.0
// Why survivors are alive, in words. A function of its arguments. The caller holds a Guard.
#pragma once

#include "analyse/names.hpp"

#include <heapmark/report.hpp>

#include <string>

namespace heapmark::report {

class LeftOut;

/// What an explanation tells, gathered so that tests can invent it.
struct ExplanationView {
    const Snapshot& lost;
    const Snapshot& held;
    const Snapshot& gone;
    std::string_view problem; ///< "" when the search was complete
    const std::vector<LostGroup>& lost_groups;
    const std::vector<Cluster>& clusters;
};

[[nodiscard]] std::string explanation_text(const ExplanationView& why, const TextOptions& options, bool color,
                                           analyse::Names& names);

/// The same as a part of a longer report, whose end tells what is left out.
[[nodiscard]] std::string explanation_part(const ExplanationView& why, const TextOptions& options, bool color,
                                           analyse::Names& names, LeftOut& left_out);

/// "global 'registry' (app) +16 -> std::vector<...> 64 bytes +8 -> 24 bytes".
[[nodiscard]] std::string path_in_words(const Path& path, analyse::Names& names);

} // namespace heapmark::report
