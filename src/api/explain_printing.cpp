// SPDX-License-Identifier: BSL-1.0
// Explanations onto streams, put together first and written at once.
#include "platform/thread_state.hpp"
#include "report/explanation_text.hpp"
#include "symbolise/symbolise.hpp"

#include <ostream>

namespace heapmark {
namespace {

std::string text_of(const Explanation& why)
{
    const TextOptions options;
    const bool color = options.color == TextOptions::Color::always;
    const std::vector<Cluster> clusters = why.clusters();
    return report::explanation_text({why.lost(), why.held(), why.gone(), why.problem(), why.lost_groups(), clusters},
                                    options, color, symbolise::process_names());
}

} // namespace

std::ostream& operator<<(std::ostream& out, const Explanation& explanation)
{
    const platform::Guard guard;
    const std::string text = text_of(explanation);
    return out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

void print(const Explanation& explanation, std::FILE* out)
{
    const platform::Guard guard;
    const std::string text = text_of(explanation);
    std::fwrite(text.data(), 1, text.size(), out);
}

} // namespace heapmark
