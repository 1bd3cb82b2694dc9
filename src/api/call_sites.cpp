// SPDX-License-Identifier: BSL-1.0
// The list of call-site records, and what those of unloaded libraries counted.
#include "analyse/immortal_text.hpp"
#include "api/printing.hpp"
#include "platform/thread_state.hpp"
#include "report/words.hpp"

#include <heapmark/call_site.hpp>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace heapmark {
namespace {

struct SitesLock {};
using Lock = analyse::ColdLock<SitesLock>;

constinit detail::CallSiteRecord* newest_site = nullptr; ///< under the lock

/// What a place is known by, in whichever library. The function is as the compiler spells it.
using Place = std::tuple<std::string_view, unsigned, std::string_view, std::string_view>;
struct Uses {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;
};
using UsesByPlace = std::map<Place, Uses, std::less<>, analyse::MallocAllocator<std::pair<const Place, Uses>>>;

/// Of places that are gone.
UsesByPlace& past_uses() { return analyse::immortal<UsesByPlace>(); }

Place place_of(const detail::CallSiteRecord& site) noexcept
{
    return {site.file, site.line, site.function, site.expression};
}

void add(Uses& uses, const detail::CallSiteRecord& site) noexcept
{
    uses.calls += site.calls.load(std::memory_order_relaxed);
    uses.bytes += site.bytes.load(std::memory_order_relaxed);
}

/// "parse(int)" of "static constexpr const char* parse(int)::<lambda()>::Place::function()".
std::string_view enclosing_function(std::string_view spelled) noexcept
{
    for (const std::string_view inner : {"::<lambda", "::(anonymous class)", "::(lambda"})
        spelled = spelled.substr(0, spelled.rfind(inner));
    constexpr std::string_view type = "const char";
    if (const std::size_t begin = spelled.find(type); begin != std::string_view::npos)
        spelled.remove_prefix(std::min(spelled.find_first_not_of(" *", begin + type.size()), spelled.size()));
    return spelled;
}

} // namespace

namespace detail {

void add_call_site(CallSiteRecord& site) noexcept
{
    const Lock lock;
    site.next = newest_site;
    newest_site = &site;
}

void remove_call_site(CallSiteRecord& site) noexcept
{
    const platform::Guard guard;
    const Lock lock;
    CallSiteRecord** link = &newest_site;
    while (*link != nullptr && *link != &site) link = &(*link)->next;
    if (*link == nullptr) return;
    *link = site.next;
    auto& text = analyse::immortal<analyse::ImmortalText>();
    try { // its library may take the texts away
        add(past_uses()[{text.keep(site.file), site.line, text.keep(site.function), text.keep(site.expression)}], site);
    } catch (const std::bad_alloc&) {
        return; // nobody could be told
    }
}

} // namespace detail

std::vector<CallSite> call_sites()
{
    const platform::Guard guard;
    std::vector<CallSite> sites;
    const Lock lock; // the records' texts are there as long as their libraries
    auto& text = analyse::immortal<analyse::ImmortalText>();
    UsesByPlace uses = past_uses();
    for (const detail::CallSiteRecord* site = newest_site; site != nullptr; site = site->next)
        add(uses[place_of(*site)], *site);
    sites.reserve(uses.size());
    for (const auto& [place, used] : uses) {
        const auto& [file, line, function, expression] = place;
        sites.push_back({text.keep(file), line, text.keep(enclosing_function(function)), text.keep(expression),
                         used.calls, used.bytes});
    }
    return sites;
}

std::ostream& operator<<(std::ostream& out, const std::vector<CallSite>& sites)
{
    write_to(out, [&sites] {
        const auto in_column = [](std::uint64_t number) {
            return report::right_aligned(report::grouped_digits(number), 12);
        };
        std::string text = "       calls        bytes  place\n";
        for (const CallSite& site : sites)
            text += in_column(site.calls) + " " + in_column(site.bytes) + "  " + std::string(site.file) + ":" +
                    std::to_string(site.line) + "  " + std::string(site.function) + "  " +
                    std::string(site.expression) + "\n";
        return text;
    });
    return out;
}

} // namespace heapmark
