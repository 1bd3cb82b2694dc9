// SPDX-License-Identifier: BSL-1.0
// Births and deaths: the rarer paths.
#include "record/recorder.hpp"

namespace heapmark::record {

constinit std::atomic<bool> clears_new_blocks{false};
constinit KeepReleased keep_released = [](bool) noexcept {};

namespace {

constinit std::atomic<std::uint64_t> unrecorded{0};
constinit std::atomic<std::uint64_t> unstacked{0};

/// Farthest that block_around looks back, so that a wild pointer costs no walk over a whole heap.
constexpr std::uintptr_t look_back_bytes = std::uintptr_t{64} << 20;

/// What the map knows of an address that is released; `word` becomes where it says so, if anywhere.
Death look_up(const void* block, std::atomic<std::uint64_t>*& word) noexcept
{
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    word = map.find(address);
    if (word == nullptr) return {};
    Death found;
    found.entry = Entry(word->load(std::memory_order_relaxed));
    if (found.entry.half() != ((address & 16) != 0) || (address & 15) != 0) return {};
    switch (found.entry.kind()) {
    case Kind::empty:
    case Kind::extension: return {};
    case Kind::released:
    case Kind::resizing: found.outcome = Death::Outcome::released_before; break;
    case Kind::internal: found.outcome = Death::Outcome::internal; break;
    default: found.outcome = Death::Outcome::died; break;
    }
    if (is_live(found.entry.kind()) || Map::has_sizes(word, found.entry)) found.sizes = Map::sizes(word, found.entry);
    return found;
}

} // namespace

std::uint64_t unrecorded_count() noexcept { return unrecorded.load(std::memory_order_relaxed); }
void count_unrecorded() noexcept { unrecorded.fetch_add(1, std::memory_order_relaxed); }

std::uint64_t unstacked_count() noexcept { return unstacked.load(std::memory_order_relaxed); }
void count_unstacked() noexcept { unstacked.fetch_add(1, std::memory_order_relaxed); }

void renew_context(platform::ThreadState& thread) noexcept
{
    for (;;) {
        // The generation is read first: the context taken after it is at least as new, so no block is booked too early.
        const std::uint32_t generation = clock.generation();
        Context* taken = clock.take_context(thread.thread, thread.balance_bytes);
        if (taken == nullptr) return;
        taken->accounts = accounts_of(thread);
        // A signal handler may allocate between these: without a record it takes the slow path, which sets both.
        thread.context_record = nullptr;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        thread.generation = generation;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        thread.context_record = taken;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        // And it may have been in a newer generation, whose record was then replaced by ours.
        if (thread.generation == generation) return;
    }
}

void bury_unseen(platform::ThreadState& thread, Entry entry, Sizes sizes) noexcept
{
    Context* context = clock.context(entry.context());
    if (context == nullptr) return;
    if (!entry.ignored()) context->taken.add({1, static_cast<std::int64_t>(sizes.requested_bytes)});
    if (context->accounts != nullptr) account_death_slowly(thread, entry.site(), sizes.usable_bytes);
}

void birth(platform::ThreadState& thread, const void* block, Sizes sizes, Kind kind, std::uint32_t site) noexcept
{
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    Leaf* leaf = Map::may_start_block(address) ? map.leaf(address) : nullptr;
    if (leaf == nullptr) {
        count_unrecorded();
        return;
    }
    std::atomic<std::uint64_t>* word = &leaf->words[Map::granule_in_leaf(address)];
    const Entry old(word->load(std::memory_order_relaxed));
    if (old.kind() > Kind::internal) bury_unseen(thread, old, Map::sizes(word, old));

    const std::uint32_t generation = clock.generation();
    if (thread.generation != generation || thread.context_record == nullptr) renew_context(thread);
    Context* context = kind == Kind::internal ? nullptr : thread.context_record;
    const bool ignored = thread.ignore_depth != 0;
    const Entry entry(kind, (address & 16) != 0, context == nullptr ? 0 : context->id, ignored, site);
    Map::raise_newest(*leaf, address, entry.context());
    Map::store(word, entry, sizes);
    if (context != nullptr && !ignored) book_birth(thread, *context, sizes.requested_bytes);
    if (context != nullptr && context->accounts != nullptr) account_birth(thread, *context->accounts, site, sizes);
    // Without a context of its own generation a block is known, for its release, but missed among the survivors.
    if (kind != Kind::internal && (context == nullptr || thread.generation < generation)) count_unrecorded();
}

Death death(platform::ThreadState& thread, const void* block) noexcept
{
    std::atomic<std::uint64_t>* word = nullptr;
    const Death found = look_up(block, word);
    if (found.outcome == Death::Outcome::internal)
        word->store(0, std::memory_order_relaxed);
    else if (found.outcome == Death::Outcome::died) {
        word->store(found.entry.with_kind(Kind::released).word(), std::memory_order_release);
        if (const AccountsBySite* accounts = book_death(thread, found.entry, found.sizes.requested_bytes))
            account_death(thread, *accounts, found.entry.site(), found.sizes.usable_bytes);
    }
    return found;
}

Resize::Resize(platform::ThreadState& thread, const void* block) noexcept
    : thread_(thread), before_(look_up(block, word_))
{
    if (is_live(before_.entry.kind()))
        word_->store(before_.entry.with_kind(Kind::resizing).word(), std::memory_order_relaxed);
}

void Resize::keep() noexcept
{
    if (is_live(before_.entry.kind())) word_->store(before_.entry.word(), std::memory_order_relaxed);
}

void Resize::done() noexcept
{
    if (before_.outcome != Death::Outcome::died && before_.outcome != Death::Outcome::internal) return;
    // The old address may already be another thread's new block: then its birth stays.
    std::uint64_t expected = before_.entry.with_kind(Kind::resizing).word();
    const std::uint64_t after =
        before_.outcome == Death::Outcome::internal ? 0 : before_.entry.with_kind(Kind::released).word();
    word_->compare_exchange_strong(expected, after, std::memory_order_relaxed);
    if (before_.outcome != Death::Outcome::died) return;
    if (const AccountsBySite* accounts = book_death(thread_, before_.entry, before_.sizes.requested_bytes))
        account_death(thread_, *accounts, before_.entry.site(), before_.sizes.usable_bytes);
}

Entry find_block(const void* block, Sizes& sizes) noexcept
{
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    const std::atomic<std::uint64_t>* word = map.find(address);
    if (word == nullptr || (address & 15) != 0) return {};
    const Entry entry(word->load(std::memory_order_acquire));
    if (!is_live(entry.kind()) || entry.half() != ((address & 16) != 0)) return {};
    sizes = Map::sizes(word, entry);
    return entry;
}

std::uintptr_t block_around(std::uintptr_t address) noexcept
{
    const std::uintptr_t last = address & ~(granule_bytes - 1);
    for (std::uintptr_t granule = last; granule != 0 && last - granule <= look_back_bytes;) {
        const std::atomic<std::uint64_t>* word = map.find(granule);
        if (word == nullptr) { // nothing in this leaf: on to the one below
            granule = (granule >> leaf_shift << leaf_shift) - granule_bytes;
            continue;
        }
        const Entry entry(word->load(std::memory_order_acquire));
        if (is_live(entry.kind())) {
            const std::uintptr_t start = granule + (entry.half() ? 16 : 0);
            if (start < address) return address - start < Map::sizes(word, entry).usable_bytes ? start : 0;
        }
        granule -= granule_bytes;
    }
    return 0;
}

bool make_ignored(const void* block) noexcept
{
    Sizes sizes;
    const Entry entry = find_block(block, sizes);
    if (entry.kind() <= Kind::internal) return false;
    if (entry.ignored()) return true;
    std::uint64_t expected = entry.word();
    if (!map.find(reinterpret_cast<std::uintptr_t>(block))
             ->compare_exchange_strong(expected, entry.with_ignored().word(), std::memory_order_relaxed))
        return false;
    if (Context* context = clock.context(entry.context()))
        context->taken.add({1, static_cast<std::int64_t>(sizes.requested_bytes)});
    return true;
}

} // namespace heapmark::record
