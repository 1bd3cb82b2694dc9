// SPDX-License-Identifier: BSL-1.0
// Ledgers and the way from sites to accounts: what happens once a thread, a site or a stretch of the net bytes.
#include "record/accounts.hpp"

#include "base/atomic_ref.hpp"
#include "platform/pages.hpp"
#include "record/contexts.hpp"
#include "record/faults.hpp"
#include "record/recorder.hpp"

#include <algorithm>
#include <cstdlib>

namespace heapmark::record {

namespace {

constinit std::atomic<AccountKey> started_for{AccountKey::none};
constinit CountsBefore before{};

/// Of threads that have none: they are ending, or no memory could be had. Written by all, atomically; not by site. Never
/// nullptr once accounting has started. No variable: it would be megabytes more for explain() to search.
constinit std::atomic<Ledger*> common_ledger{nullptr};
constinit std::atomic<Ledger*> newest{nullptr};
/// For what finds no place there either.
constinit Account without_ledger{};

constinit platform::GrowingTable<std::atomic<std::uint32_t>, site_id_bits, 14> account_ids{}; ///< by site

/// Of all ledgers that have to do with an account.
struct ToldTotal {
    std::int64_t net_bytes;
    std::int64_t peak_bytes;
};
constinit platform::GrowingTable<ToldTotal, site_id_bits, 12> told{};

std::int64_t add(std::int64_t& counter, std::int64_t amount) noexcept
{
    return __atomic_add_fetch(&counter, amount, __ATOMIC_RELAXED);
}

void raise(std::int64_t& most, std::int64_t value) noexcept
{
    const base::AtomicRef shared(most);
    std::int64_t seen = shared.load_relaxed();
    while (seen < value && !shared.exchange_if_relaxed(seen, value)) {}
}

/// The total first: a signal handler in between may make this less than there ever was, but not more.
std::int64_t net_of(const Account& account) noexcept
{
    const std::int64_t total = value_of(account.total_bytes);
    return total - value_of(account.freed_bytes);
}

/// Adds to the account's total. Returns how far the net bytes of a ledger may move before it has to do so again.
std::int64_t tell(std::uint32_t id, std::int64_t bytes) noexcept
{
    ToldTotal* total = told.slot(id);
    if (total == nullptr) return least_reach_bytes;
    raise(total->peak_bytes, add(total->net_bytes, bytes));
    return std::max(least_reach_bytes, value_of(total->peak_bytes) / reach_divisor);
}

/// One that is taken; not in the list yet.
Ledger* make_ledger() noexcept
{
    auto* made = static_cast<Ledger*>(platform::map_pages(sizeof(Ledger)));
    if (made != nullptr) made->taken.store(true, std::memory_order_relaxed);
    return made;
}

void publish(Ledger* made) noexcept
{
    made->next = newest.load(std::memory_order_relaxed);
    while (!newest.compare_exchange_weak(made->next, made, std::memory_order_release, std::memory_order_relaxed)) {}
}

Ledger* take_ledger() noexcept
{
    for (Ledger* ledger = newest.load(std::memory_order_acquire); ledger != nullptr; ledger = ledger->next)
        if (!ledger->taken.load(std::memory_order_relaxed) && !ledger->taken.exchange(true, std::memory_order_acquire))
            return ledger;
    Ledger* made = make_ledger();
    if (made != nullptr) publish(made);
    return made;
}

/// The thread's ledger, taken if need be; nullptr when there is none for it.
Ledger* ledger_of(platform::ThreadState& thread) noexcept
{
    if (thread.ledger == nullptr && thread.phase != platform::ThreadState::Phase::ending) {
        Ledger* taken = take_ledger();
        if (thread.ledger == nullptr)
            thread.ledger = taken;
        else if (taken != nullptr) // a signal handler came first
            taken->taken.store(false, std::memory_order_release);
    }
    return thread.ledger;
}

std::uint32_t find_account(std::uint32_t site_id) noexcept
{
    const Site* known = site(site_id);
    if (known == nullptr) return nobodys_account;
    std::span<const std::uint64_t> frames(known->frames(), known->depth_frames);
    if (accounting_key() == AccountKey::caller && !frames.empty()) frames = frames.first(1);
    const std::uint32_t id = intern_site(site_hash(SiteKey{}, frames), {}, frames);
    return id == no_site ? nobodys_account : id;
}

/// The account of a site, from now on always the same: a death must find the account of its birth.
std::uint32_t account_id(std::uint32_t site_id) noexcept
{
    std::atomic<std::uint32_t>* slot = account_ids.slot(site_id);
    if (slot == nullptr) return nobodys_account;
    std::uint32_t id = slot->load(std::memory_order_relaxed);
    if (id != 0) return id;
    const std::uint32_t found = find_account(site_id);
    return slot->compare_exchange_strong(id, found, std::memory_order_relaxed) ? found : id;
}

/// An account to book on; if need be one that others write too.
struct Found {
    std::uint32_t id;
    Account* account;
    bool own;
};

Found make_account(platform::ThreadState& thread, std::uint32_t site_id) noexcept
{
    const std::uint32_t id = account_id(site_id);
    if (Ledger* ledger = ledger_of(thread))
        if (Account* account = ledger->accounts.slot(id)) {
            account->id = id;
            ledger->by_site.keep(site_id, account);
            return {id, account, true};
        }
    if (Account* account = common_ledger.load(std::memory_order_acquire)->accounts.slot(id))
        return {id, account, false};
    return {nobodys_account, &without_ledger, false};
}

/// After a birth or a death in an account that others write too.
void follow_common(const Found& found, std::int64_t bytes) noexcept
{
    raise(found.account->peak_bytes, net_of(*found.account));
    tell(found.id, bytes);
}

} // namespace

bool start_accounting(AccountKey key) noexcept
{
    if (key == AccountKey::none || common_ledger.load(std::memory_order_relaxed) != nullptr) return false;
    Ledger* made = make_ledger();
    if (made == nullptr) return false;
    Ledger* none = nullptr;
    if (!common_ledger.compare_exchange_strong(none, made, std::memory_order_acq_rel)) {
        platform::unmap_pages(made, sizeof(Ledger));
        return false;
    }
    publish(made);
    before = {unrecorded_count(), fault_count(FaultKind::unknown_free)};
    started_for.store(key, std::memory_order_release);
    return true;
}

AccountsBySite* no_accounts() noexcept { return &common_ledger.load(std::memory_order_acquire)->by_site; }

AccountKey accounting_key() noexcept { return started_for.load(std::memory_order_acquire); }

CountsBefore counts_before_accounting() noexcept { return before; }

AccountsBySite* accounts_of(platform::ThreadState& thread) noexcept
{
    if (accounting_key() == AccountKey::none) return nullptr;
    Ledger* ledger = ledger_of(thread);
    return ledger == nullptr ? no_accounts() : &ledger->by_site;
}

void give_back_ledger(platform::ThreadState& thread) noexcept
{
    Ledger* ledger = thread.ledger;
    if (ledger == nullptr) return;
    thread.ledger = nullptr;
    if (thread.context_record != nullptr && thread.context_record->accounts != nullptr)
        thread.context_record->accounts = no_accounts();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    ledger->taken.store(false, std::memory_order_release);
}

Ledger* newest_ledger() noexcept { return newest.load(std::memory_order_acquire); }

const Account& account_without_ledger() noexcept { return without_ledger; }

std::int64_t told_peak(std::uint32_t account) noexcept
{
    const ToldTotal* total = told.find(account);
    return total == nullptr ? 0 : value_of(total->peak_bytes);
}

void follow_net(Account& account) noexcept
{
    const std::int64_t net = net_of(account);
    raise(account.peak_bytes, net);
    const std::int64_t untold = net - value_of(account.told_bytes);
    if (std::abs(untold) >= account.reach_bytes) {
        // A signal handler in between may tell the same: what ledgers say they told stays what was added up.
        base::add_by_owner(account.told_bytes, untold);
        account.reach_bytes = tell(account.id, untold);
    }
    std::int64_t told_bytes = 0;
    do {
        told_bytes = value_of(account.told_bytes);
        account.high_bytes = std::min(value_of(account.peak_bytes), told_bytes + account.reach_bytes - 1);
        account.low_bytes = told_bytes - account.reach_bytes + 1;
        std::atomic_signal_fence(std::memory_order_seq_cst);
    } while (told_bytes != value_of(account.told_bytes)); // a signal handler has told meanwhile
}

void account_birth_slowly(platform::ThreadState& thread, std::uint32_t site, Sizes sizes) noexcept
{
    const Found found = make_account(thread, site);
    if (found.own) return add_birth(*found.account, sizes);
    const auto usable = static_cast<std::int64_t>(sizes.usable_bytes);
    add(found.account->allocations, 1);
    add(found.account->slack_bytes, usable - static_cast<std::int64_t>(sizes.requested_bytes));
    add(found.account->total_bytes, usable);
    follow_common(found, usable);
}

void account_death_slowly(platform::ThreadState& thread, std::uint32_t site, std::size_t usable_bytes) noexcept
{
    const Found found = make_account(thread, site);
    if (found.own) return add_death(*found.account, usable_bytes);
    const auto usable = static_cast<std::int64_t>(usable_bytes);
    add(found.account->frees, 1);
    add(found.account->freed_bytes, usable);
    follow_common(found, -usable);
}

} // namespace heapmark::record
