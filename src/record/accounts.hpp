// SPDX-License-Identifier: BSL-1.0
// Accounting: what each caller, or each call stack, has allocated since accounting was started.
//
// Whether a block is accounted hangs on its context alone, which says so from its beginning: a birth is accounted if and
// only if the death will be. Counters are per account and ledger; a ledger belongs to one thread at a time, which writes it with
// plain additions, and passes to the next thread with its figures. Readers add the ledgers up.
#pragma once

#include "base/bits.hpp"
#include "platform/growing_table.hpp"
#include "platform/thread_state.hpp"
#include "record/depot.hpp"
#include "record/entry.hpp"

#include <cstddef>
#include <utility>

namespace heapmark::record {

/// What an account is kept for.
enum class AccountKey : std::uint8_t { none, caller, stack };

/// Accounts are named by the site that is the caller, or the stack, alone. Of blocks whose stack could not be kept:
inline constexpr std::uint32_t nobodys_account = internal_site;

/// One ledger's figures of one account. Valid when zero. Plain numbers: the owner's code may read them in operands of
/// other instructions. Others use base::AtomicRef.
/// The peak of an account that only this ledger has to do with is exact. For others each ledger tells the account's total
/// whenever its own net has moved by `reach_bytes` since: at any time less than that is untold.
struct alignas(64) Account {
    std::int64_t allocations;
    std::int64_t frees;
    std::int64_t slack_bytes;
    std::int64_t total_bytes; ///< usable ones
    std::int64_t freed_bytes; ///< may be more: what was allocated in other ledgers
    std::int64_t high_bytes;  ///< while net bytes are not above this, nor below the next, nothing is due
    std::int64_t low_bytes;
    std::int64_t peak_bytes;

    alignas(64) std::int64_t told_bytes; ///< of the net bytes
    std::int64_t reach_bytes;
    std::uint32_t id;
};
static_assert(sizeof(Account) == 128 && offsetof(Account, told_bytes) == 64, "the heap path takes one cache line");

/// For readers: of a counter that another thread writes.
inline std::int64_t value_of(const std::int64_t& counter) noexcept
{
    return __atomic_load_n(&counter, __ATOMIC_RELAXED);
}

/// `reach_bytes` is the greater of this and the account's peak by `reach_divisor`.
inline constexpr std::int64_t least_reach_bytes = 16384;
inline constexpr std::int64_t reach_divisor = 64;

/// A ledger's accounts by site: what the heap path looks up. Of sites with higher numbers it finds none, so that they go
/// the slow way.
struct AccountsBySite {
    static constexpr std::uint32_t site_limit = std::uint32_t{1} << 20;
    std::atomic<Account*> accounts[site_limit];

    [[nodiscard]] Account* find(std::uint32_t site) const noexcept
    {
        return site < site_limit ? accounts[site].load(std::memory_order_acquire) : nullptr;
    }
    void keep(std::uint32_t site, Account* account) noexcept
    {
        if (site < site_limit) accounts[site].store(account, std::memory_order_release);
    }
};

struct Ledger {
    AccountsBySite by_site;
    platform::GrowingTable<Account, site_id_bits, 10> accounts;
    std::atomic<bool> taken;
    Ledger* next; ///< of all ledgers; set before the ledger is published
};

/// Starts accounting; contexts taken from now on are accounted. False when it was started before, for `none`, and when
/// there is no memory for it.
bool start_accounting(AccountKey key) noexcept;

/// `none` while accounting has not been started.
AccountKey accounting_key() noexcept;

/// What was counted before accounting started: recorder.hpp's unrecorded_count() and the unknown frees of faults.hpp.
struct CountsBefore {
    std::uint64_t unrecorded = 0;
    std::uint64_t unknown_frees = 0;
};
CountsBefore counts_before_accounting() noexcept;

/// What a new context of the thread says of accounts.
AccountsBySite* accounts_of(platform::ThreadState& thread) noexcept;

/// The thread ends: its ledger is for the next one, and what it does from now on is booked elsewhere.
void give_back_ledger(platform::ThreadState& thread) noexcept;

/// Follow Ledger::next.
Ledger* newest_ledger() noexcept;

/// What found no place in any ledger.
const Account& account_without_ledger() noexcept;

/// The most net bytes that the ledgers together have told of an account.
std::int64_t told_peak(std::uint32_t account) noexcept;

/// Of threads that have no ledger: finds nothing, so that they go the slow way.
AccountsBySite* no_accounts() noexcept;

// What follows keeps the heap path short: the rest of account_birth() and account_death() when something has to be made
// first, and of keeping up with the net bytes when they have moved far enough.
void account_birth_slowly(platform::ThreadState& thread, std::uint32_t site, Sizes sizes) noexcept;
void account_death_slowly(platform::ThreadState& thread, std::uint32_t site, std::size_t usable_bytes) noexcept;
void follow_net(Account& account) noexcept;

/// By the ledger's owner.
[[gnu::always_inline]] inline void add_birth(Account& account, Sizes sizes) noexcept
{
    base::add_by_owner(account.allocations, 1);
    base::add_by_owner(account.slack_bytes, static_cast<std::int64_t>(sizes.usable_bytes - sizes.requested_bytes));
    base::add_by_owner(account.total_bytes, static_cast<std::int64_t>(sizes.usable_bytes));
    if (account.total_bytes - account.freed_bytes > account.high_bytes) [[unlikely]]
        follow_net(account);
}

/// By the ledger's owner.
[[gnu::always_inline]] inline void add_death(Account& account, std::size_t usable_bytes) noexcept
{
    base::add_by_owner(account.frees, 1);
    base::add_by_owner(account.freed_bytes, static_cast<std::int64_t>(usable_bytes));
    if (account.total_bytes - account.freed_bytes < account.low_bytes) [[unlikely]]
        follow_net(account);
}

/// Books a birth in a context that has these accounts.
[[gnu::always_inline]] inline void account_birth(platform::ThreadState& thread, const AccountsBySite& accounts,
                                                 std::uint32_t site, Sizes sizes) noexcept
{
    if (Account* account = accounts.find(site)) [[likely]]
        add_birth(*account, sizes);
    else
        account_birth_slowly(thread, site, sizes);
}

/// Books the death of a block that was born in an accounted context, by a thread whose own context has these accounts.
[[gnu::always_inline]] inline void account_death(platform::ThreadState& thread, const AccountsBySite& accounts,
                                                 std::uint32_t site, std::size_t usable_bytes) noexcept
{
    if (Account* account = accounts.find(site)) [[likely]]
        add_death(*account, usable_bytes);
    else
        account_death_slowly(thread, site, usable_bytes);
}

/// Calls `visit(id, account)` for what each ledger has of each account.
template <class Visit>
void for_accounts(Visit visit) noexcept(noexcept(visit(0U, std::declval<const Account&>())))
{
    const std::uint32_t end = end_site_id();
    for (Ledger* ledger = newest_ledger(); ledger != nullptr; ledger = ledger->next)
        for (std::uint32_t id = nobodys_account; id < end; ++id) {
            if (const Account* account = ledger->accounts.find(id))
                visit(id, *account);
            else
                id |= ledger->accounts.chunk_size - 1; // nor is there one of the rest of the chunk
        }
    visit(nobodys_account, account_without_ledger());
}

} // namespace heapmark::record
