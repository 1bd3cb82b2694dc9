// SPDX-License-Identifier: BSL-1.0
// Explanations onto streams, put together first and written at once.
#include "api/explain_printing.hpp"

#include "api/printing.hpp"
#include "report/explanation_text.hpp"
#include "report/left_out.hpp"
#include "symbolise/symbolise.hpp"

namespace heapmark {

std::string explanation_in_words(const Explanation& why, const TextOptions& options, bool color,
                                 report::LeftOut& left_out)
{
    const std::vector<Cluster> clusters = why.clusters();
    return report::explanation_part({why.lost(), why.held(), why.gone(), why.problem(), why.lost_groups(), clusters},
                                    options, color, symbolise::process_names(), left_out);
}

namespace {

std::string text_of(const Explanation& why)
{
    const TextOptions options;
    const bool color = options.color == TextOptions::Color::always;
    return report::whole_report(
        color, [&](report::LeftOut& left_out) { return explanation_in_words(why, options, color, left_out); });
}

} // namespace

std::ostream& operator<<(std::ostream& out, const Explanation& explanation)
{
    write_to(out, [&explanation] { return text_of(explanation); });
    return out;
}

void print(const Explanation& explanation, std::FILE* out)
{
    const platform::Guard guard;
    write_to(out, text_of(explanation));
}

} // namespace heapmark
