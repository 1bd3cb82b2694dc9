// SPDX-License-Identifier: BSL-1.0
#include "suppress/given.hpp"

#include "platform/thread_state.hpp"

namespace heapmark::suppress {

void add_files(Suppressions& suppressions, std::string_view paths)
{
    const platform::Guard guard;
    while (!paths.empty()) {
        const std::size_t comma = paths.find(',');
        if (comma != 0) suppressions.add_file(std::string(paths.substr(0, comma)));
        paths = comma == std::string_view::npos ? std::string_view{} : paths.substr(comma + 1);
    }
}

std::string notes_on(const Suppressions& suppressions, std::uint64_t other_blocks)
{
    constexpr std::uint64_t blocks_worth_a_warning = 20;
    std::uint64_t all = other_blocks;
    for (const Suppression& suppression : suppressions.list())
        if (!suppression.built_in) all += suppression.matched.blocks;

    std::string text;
    for (const Suppression& suppression : suppressions.list()) {
        if (suppression.built_in) continue;
        const std::string which = "heapmark: " + suppression.origin + ": \"" + suppression.pattern + "\" ";
        const std::uint64_t matched = suppression.matched.blocks;
        if (matched == 0)
            text += which + "matched nothing; remove it, or correct it\n";
        else if (matched * 2 > all && matched >= blocks_worth_a_warning)
            text += which + "hides " + std::to_string(matched) + " of " + std::to_string(all) +
                    " blocks; make it narrower\n";
    }
    return text;
}

} // namespace heapmark::suppress
