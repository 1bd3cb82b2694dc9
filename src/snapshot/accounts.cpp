// SPDX-License-Identifier: BSL-1.0
// Adds up what the ledgers have of each account.
#include "snapshot/accounts.hpp"

#include "record/accounts.hpp"
#include "record/faults.hpp"
#include "record/recorder.hpp"

#include <algorithm>
#include <unordered_map>

namespace heapmark::snapshot {
namespace {

static_assert(static_cast<int>(AccountingKey::callers) == static_cast<int>(record::AccountKey::caller));
static_assert(static_cast<int>(AccountingKey::stacks) == static_cast<int>(record::AccountKey::stack));

struct Sum {
    AccountFigures figures;
    unsigned ledgers = 0; ///< that have to do with it
};

std::uint64_t number(const std::int64_t& counter) noexcept
{
    return static_cast<std::uint64_t>(record::value_of(counter));
}

Sum sum_of(const record::Account& account) noexcept
{
    Sum sum;
    sum.figures.frees = number(account.frees); // first, so that in a busy thread it is not more than the allocations
    sum.figures.allocations = number(account.allocations);
    sum.figures.total_bytes = number(account.total_bytes);
    sum.figures.slack_bytes = number(account.slack_bytes);
    sum.figures.net_bytes = static_cast<std::int64_t>(sum.figures.total_bytes - number(account.freed_bytes));
    sum.figures.peak_bytes = number(account.peak_bytes);
    sum.ledgers = 1;
    return sum;
}

/// What is told of shared accounts lags behind; what there is now is a peak at least.
std::uint64_t peak_of(std::uint32_t id, const Sum& sum) noexcept
{
    if (sum.ledgers == 1) return sum.figures.peak_bytes;
    return static_cast<std::uint64_t>(
        std::max(record::told_peak(id), std::max<std::int64_t>(sum.figures.net_bytes, 0)));
}

} // namespace

Accounting read_accounts()
{
    Accounting reading;
    reading.key = static_cast<AccountingKey>(record::accounting_key());
    if (reading.key == AccountingKey::none) return reading;
    const record::CountsBefore before = record::counts_before_accounting();
    reading.unrecorded_allocations = record::unrecorded_count() - before.unrecorded;
    reading.unknown_frees = record::fault_count(record::FaultKind::unknown_free) - before.unknown_frees;

    std::unordered_map<std::uint32_t, Sum> sums;
    record::for_accounts([&sums](std::uint32_t id, const record::Account& account) {
        const Sum one = sum_of(account);
        if (one.figures.allocations == 0 && one.figures.frees == 0) return;
        Sum& sum = sums[id];
        sum.figures += one.figures;
        sum.ledgers += one.ledgers;
    });
    for (const auto& [id, sum] : sums) {
        Account& row = reading.rows.emplace_back();
        static_cast<AccountFigures&>(row) = sum.figures;
        row.peak_bytes = peak_of(id, sum);
        if (const record::Site* site = record::site(id))
            row.stack = Stack(reinterpret_cast<const Frame*>(site->frames()), site->depth_frames);
        else
            reading.unrecorded_callers = sum.figures.allocations;
        if (!row.stack.empty()) ++reading.callers;
    }
    return reading;
}

} // namespace heapmark::snapshot
