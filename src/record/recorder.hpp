// SPDX-License-Identifier: BSL-1.0
// Births and deaths of blocks: what every allocation and release does to the record.
#pragma once

#include "platform/thread_state.hpp"
#include "record/contexts.hpp"
#include "record/map.hpp"

namespace heapmark::record {

/// Allocations that were served but could not be recorded: no memory for the map, or an address it cannot describe.
std::uint64_t unrecorded_count() noexcept;
void count_unrecorded() noexcept;

/// Allocations that were recorded without a stack, for want of depot space.
std::uint64_t unstacked_count() noexcept;
void count_unstacked() noexcept;

/// Makes the thread's context that of the current generation. Keeps the old one when no new one can be had.
void renew_context(platform::ThreadState& thread) noexcept;

/// Books out a block whose release nobody saw: its address was handed out anew.
void bury_unseen(Entry entry, Sizes sizes) noexcept;

namespace detail {

inline void book_death(const platform::ThreadState& thread, Entry entry, Sizes sizes) noexcept
{
    Context* context = clock.context(entry.context());
    if (context == nullptr) return;
    const Totals loss{-1, -static_cast<std::int64_t>(sizes.requested_bytes)};
    const std::size_t part = entry.ignored() ? 1 : 0;
    if (context->thread == thread.thread)
        context->own[part].add_by_owner(loss);
    else
        context->others[part].add(loss);
}

} // namespace detail

/// Records a block that the allocator has just handed out. `kind` internal: heapmark's own, outside all counts.
inline void birth(platform::ThreadState& thread, const void* block, Sizes sizes, Kind kind, std::uint32_t site) noexcept
{
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    Leaf* leaf = map.leaf(address);
    if (leaf == nullptr || (address & 15) != 0) [[unlikely]] {
        count_unrecorded();
        return;
    }
    const Entry old(leaf->words[Map::granule_in_leaf(address)].load(std::memory_order_relaxed));
    if (old.kind() > Kind::internal) [[unlikely]]
        bury_unseen(old, map.sizes(address, &leaf->words[Map::granule_in_leaf(address)], old));

    if (thread.generation != clock.generation() || thread.context == 0) [[unlikely]]
        renew_context(thread);
    const bool ignored = thread.ignore_depth != 0;
    const bool half = (address & 16) != 0;
    const Entry entry(kind, half, kind == Kind::internal ? 0 : thread.context, ignored, site);
    Map::raise_newest(*leaf, address, entry.context());
    if (!map.store(*leaf, address, entry, sizes)) [[unlikely]] {
        count_unrecorded();
        return;
    }
    if (kind == Kind::internal) return;
    if (Context* context = clock.context(thread.context))
        context->own[ignored ? 1 : 0].add_by_owner({1, static_cast<std::int64_t>(sizes.requested_bytes)});
}

/// What the map knew of an address that is released.
struct Death {
    enum class Outcome : std::uint8_t { unknown, internal, released_before, died };
    Outcome outcome = Outcome::unknown;
    Entry entry;
    Sizes sizes;
};

/// Records the release of a block, to be called before its memory is handed back.
/// Two threads that release the same block at the same moment may both see it alive; that race is the program's.
inline Death death(platform::ThreadState& thread, const void* block) noexcept
{
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    std::atomic<std::uint64_t>* word = map.find(address);
    if (word == nullptr) [[unlikely]]
        return {};
    const Entry entry(word->load(std::memory_order_relaxed));
    if (entry.half() != ((address & 16) != 0) || (address & 15) != 0) [[unlikely]]
        return {};

    if (entry.kind() <= Kind::internal) [[unlikely]] {
        switch (entry.kind()) {
        case Kind::internal: word->store(0, std::memory_order_relaxed); return {Death::Outcome::internal, entry, {}};
        case Kind::released:
        case Kind::resizing: return {Death::Outcome::released_before, entry, map.sizes(address, word, entry)};
        default: return {};
        }
    }
    const Sizes sizes = map.sizes(address, word, entry);
    word->store(entry.with_kind(Kind::released).word(), std::memory_order_release);
    detail::book_death(thread, entry, sizes);
    return {Death::Outcome::died, entry, sizes};
}

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
