// SPDX-License-Identifier: BSL-1.0
// Births and deaths of blocks: what every allocation and release does to the record.
#pragma once

#include "platform/thread_state.hpp"
#include "record/accounts.hpp"
#include "record/contexts.hpp"
#include "record/map.hpp"

namespace heapmark::record {

/// Allocations that were served but could not be recorded: no memory for the map, or an address it cannot describe.
std::uint64_t unrecorded_count() noexcept;
void count_unrecorded() noexcept;

/// Allocations that were recorded without a stack, for want of depot space.
std::uint64_t unstacked_count() noexcept;
void count_unstacked() noexcept;

/// Whether blocks are handed out as zeros: see heapmark::clear_new_blocks.
extern constinit std::atomic<bool> clears_new_blocks;

/// Has blocks that are released from now on kept from being handed out again, some megabytes at most, or no longer.
/// Does nothing until the functions of the C allocator are overridden.
using KeepReleased = void (*)(bool yes) noexcept;
extern constinit KeepReleased keep_released;

/// Makes the thread's context that of the current generation. Keeps the old one when no new one can be had.
void renew_context(platform::ThreadState& thread) noexcept;

/// Records a block that the allocator has just handed out. `kind` internal: heapmark's own, outside all counts.
void birth(platform::ThreadState& thread, const void* block, Sizes sizes, Kind kind, std::uint32_t site) noexcept;

/// Puts a block into the totals of the thread's context.
[[gnu::always_inline]] inline void book_birth(platform::ThreadState& thread, Context& context,
                                              std::size_t requested_bytes) noexcept
{
    const auto bytes = static_cast<std::int64_t>(requested_bytes);
    context.born.add_by_owner({1, bytes});
    base::add_by_owner(thread.balance_bytes, bytes);
    const std::int64_t balance = thread.balance_bytes;
    if (balance > context.balance_max.load(std::memory_order_relaxed)) [[unlikely]]
        context.balance_max.store(balance, std::memory_order_relaxed);
}

/// birth() of a block that is as most are, by a thread that ignores nothing; `kind` not internal.
/// False where something has to be made, corrected or given up first: then nothing has happened.
[[gnu::always_inline]] inline bool plain_birth(platform::ThreadState& thread, const void* block, Sizes sizes, Kind kind,
                                               std::uint32_t site) noexcept
{
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    if (!Map::may_start_block(address)) [[unlikely]]
        return false;
    Leaf* leaf = map.leaf_at(address);
    // Read once: a signal handler that allocates, in a newer generation, may replace it at any moment.
    Context* context = const_cast<Context* volatile&>(thread.context_record);
    if (leaf == nullptr || context == nullptr || thread.generation != clock.generation() || !Map::is_plain(sizes))
        [[unlikely]]
        return false;
    std::atomic<std::uint64_t>* word = &leaf->words[Map::granule_in_leaf(address)];
    if (Entry(word->load(std::memory_order_relaxed)).kind() > Kind::internal) [[unlikely]]
        return false;
    Map::raise_newest(*leaf, address, context->id);
    Map::store_plain(word, Entry(kind, (address & 16) != 0, context->id, false, site), sizes);
    book_birth(thread, *context, sizes.requested_bytes);
    if (context->accounts != nullptr) [[unlikely]]
        account_birth(thread, *context->accounts, site, sizes);
    return true;
}

/// What the map knew of an address that is released.
struct Death {
    enum class Outcome : std::uint8_t { unknown, internal, released_before, died };
    Outcome outcome = Outcome::unknown;
    Entry entry;
    Sizes sizes;
};

/// Takes a block out of the totals of its context. Returns the accounts that its death is to be booked on, if on any.
[[nodiscard]] [[gnu::always_inline]] inline AccountsBySite* book_death(platform::ThreadState& thread, Entry entry,
                                                                       std::size_t requested_bytes) noexcept
{
    const auto bytes = static_cast<std::int64_t>(requested_bytes);
    Context* const own = const_cast<Context* volatile&>(thread.context_record); // once, as in plain_birth()
    if (own != nullptr && own->id == entry.context()) [[likely]] {
        if (!entry.ignored()) [[likely]] {
            base::add_by_owner(thread.balance_bytes, -bytes);
            own->died.add_by_owner({1, bytes});
        }
        return own->accounts;
    }
    Context* const context = clock.context(entry.context());
    if (context == nullptr) return nullptr;
    if (!entry.ignored()) {
        base::add_by_owner(thread.balance_bytes, -bytes);
        if (context->thread == thread.thread)
            context->died.add_by_owner({1, bytes});
        else
            context->taken.add({1, bytes});
    }
    if (context->accounts == nullptr) return nullptr;
    return own == nullptr || own->accounts == nullptr ? no_accounts() : own->accounts;
}

/// A size that a release does not state.
inline constexpr std::size_t unstated = ~std::size_t{0};

/// death() of a block that is as it should be: alive, of that kind, and of that size where one is stated.
/// False where it is not, or where that takes longer to tell: then nothing has happened.
[[gnu::always_inline]] inline bool plain_death(platform::ThreadState& thread, const void* block, Kind kind,
                                               std::size_t stated_bytes) noexcept
{
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    if (!Map::may_start_block(address)) [[unlikely]]
        return false;
    Leaf* leaf = map.leaf_at(address);
    if (leaf == nullptr) [[unlikely]]
        return false;
    std::atomic<std::uint64_t>* word = &leaf->words[Map::granule_in_leaf(address)];
    const Entry entry(word->load(std::memory_order_relaxed));
    if (!entry.is(kind, (address & 16) != 0)) [[unlikely]]
        return false;
    const std::uint64_t extension = Map::extension(word, entry);
    const std::size_t requested_bytes = Map::requested_bytes(entry, extension);
    if (stated_bytes != unstated && stated_bytes != requested_bytes) [[unlikely]]
        return false;
    word->store(entry.with_kind(Kind::released).word(), std::memory_order_release);
    if (const AccountsBySite* accounts = book_death(thread, entry, requested_bytes)) [[unlikely]]
        account_death(thread, *accounts, entry.site(), Map::usable_bytes(word, entry, extension, requested_bytes));
    return true;
}

/// Records the release of a block, to be called before its memory is handed back.
/// Two threads that release the same block at the same moment may both see it alive; that race is the program's.
Death death(platform::ThreadState& thread, const void* block) noexcept;

/// A realloc in three steps around the allocator's: the block is neither freed nor born until it is known which.
class Resize {
public:
    /// Marks the block as being resized. `outcome()` as of death(); died: it was alive.
    Resize(platform::ThreadState& thread, const void* block) noexcept;

    [[nodiscard]] const Death& before() const noexcept { return before_; }
    /// The allocator failed: the old birth stays.
    void keep() noexcept;
    /// The block is gone from the old address; birth() at the new one is the caller's to call, afterwards.
    void done() noexcept;

private:
    platform::ThreadState& thread_;
    std::atomic<std::uint64_t>* word_ = nullptr;
    Death before_;
};

/// The live block that starts at `block`; nullopt-like: kind empty when none does.
Entry find_block(const void* block, Sizes& sizes) noexcept;

/// The start of the live block that holds `address` inside it, past its first byte; 0 when none does.
std::uintptr_t block_around(std::uintptr_t address) noexcept;

/// Takes a live block out of the survivors for good. False when none starts at `block`.
bool make_ignored(const void* block) noexcept;

} // namespace heapmark::record
