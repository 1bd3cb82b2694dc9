// SPDX-License-Identifier: BSL-1.0
#include "analyse/accounts.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace heapmark::analyse {

namespace {

/// Rows of one process have the same stack if and only if its frames lie at the same place of the depot.
struct Place {
    const Frame* frames;
    std::size_t depth;
    bool operator==(const Place&) const noexcept = default;
};
struct PlaceHash {
    std::size_t operator()(const Place& place) const noexcept { return std::hash<const Frame*>{}(place.frames); }
};

bool more_net(const AccountFigures& a, const AccountFigures& b) noexcept
{
    return std::tie(a.net_bytes, a.total_bytes, a.allocations) > std::tie(b.net_bytes, b.total_bytes, b.allocations);
}

/// The module's path; "" for none.
std::string_view module_of(const Stack& stack, Names& names)
{
    const CallSite site = call_site(stack, names);
    return site.frame == nullptr ? std::string_view{} : site.frame->module;
}

} // namespace

void complete(Accounting& accounting)
{
    std::stable_sort(accounting.rows.begin(), accounting.rows.end(), [](const Account& a, const Account& b) {
        if (more_net(a, b) || more_net(b, a)) return more_net(a, b);
        return a.caller().bits < b.caller().bits;
    });
    AccountFigures sum;
    for (const Account& row : accounting.rows) sum += row;
    accounting.total_bytes = sum.total_bytes;
    accounting.slack_bytes = sum.slack_bytes;
    accounting.net_bytes = sum.net_bytes;
    accounting.allocations = sum.allocations;
    accounting.frees = sum.frees;
}

Accounting difference(const Accounting& newer, const Accounting& older)
{
    Accounting result = newer;
    result.rows.clear();
    result.callers = 0;
    result.unrecorded_callers -= older.unrecorded_callers;
    result.unrecorded_allocations -= older.unrecorded_allocations;
    result.unknown_frees -= older.unknown_frees;
    std::unordered_map<Place, const Account*, PlaceHash> before;
    for (const Account& row : older.rows) before[{row.stack.begin(), row.stack.size()}] = &row;
    for (Account row : newer.rows) {
        if (const auto known = before.find({row.stack.begin(), row.stack.size()}); known != before.end()) {
            row.total_bytes -= known->second->total_bytes;
            row.slack_bytes -= known->second->slack_bytes;
            row.net_bytes -= known->second->net_bytes;
            row.allocations -= known->second->allocations;
            row.frees -= known->second->frees;
        }
        if (row.allocations == 0 && row.frees == 0) continue;
        if (!row.stack.empty()) ++result.callers;
        result.rows.push_back(row);
    }
    complete(result);
    return result;
}

std::vector<ModuleAccount> by_module(const Accounting& accounting, Names& names)
{
    std::vector<ModuleAccount> modules;
    std::unordered_map<std::string_view, std::size_t> indices;
    for (const Account& row : accounting.rows) {
        const std::string_view module = module_of(row.stack, names);
        const auto [known, is_new] = indices.try_emplace(module, modules.size());
        if (is_new) modules.emplace_back().module = module;
        ModuleAccount& sum = modules[known->second];
        sum += row;
        ++sum.callers;
    }
    std::sort(modules.begin(), modules.end(), [](const ModuleAccount& a, const ModuleAccount& b) {
        if (more_net(a, b) || more_net(b, a)) return more_net(a, b);
        return a.module < b.module;
    });
    return modules;
}

} // namespace heapmark::analyse
