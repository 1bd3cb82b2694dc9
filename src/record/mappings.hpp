// SPDX-License-Identifier: BSL-1.0
// Memory that the program has mapped: what mmap and its like do to the record, once HEAPMARK_OPTIONS=mappings=1 began it.
// Async-signal-safe; nothing here is held while the system works.
#pragma once

#include "platform/page_vector.hpp"
#include "record/mapping_set.hpp"

#include <atomic>

namespace heapmark::record {

struct MappingRecord;
extern constinit std::atomic<MappingRecord*> mapping_record; ///< nullptr: nothing is recorded

inline bool records_mappings() noexcept { return mapping_record.load(std::memory_order_acquire) != nullptr; }

/// Begins recording. False when there is no memory for it. Only the first call does anything.
bool start_mappings() noexcept;

/// Has a forked child find the record as it was. Allocates; once, while the process starts.
void keep_mappings_over_fork() noexcept;

/// Records what the system has just mapped. The birth's number and address are given here.
void add_mapping(std::uintptr_t begin, std::size_t bytes, const MappingBirth& birth) noexcept;

/// A mapping of which not even the size could be told.
void count_unrecorded_mapping() noexcept;

/// An unmapping in two steps around the system's: what is unmapped may be another thread's at once, so it is taken out of
/// the record before. A child that is forked in between misses what it still has.
class Unmapping {
public:
    /// What mremap is given: its size is rounded up to whole pages, which are huge ones in some mappings.
    struct Old {
        std::uintptr_t begin;
        std::size_t bytes;
    };
    /// What shmat attached there.
    struct Segment {
        std::uintptr_t address;
    };

    Unmapping(std::uintptr_t begin, std::uintptr_t end) noexcept;
    explicit Unmapping(Old old) noexcept;
    explicit Unmapping(Segment segment) noexcept;
    Unmapping(const Unmapping&) = delete;
    Unmapping& operator=(const Unmapping&) = delete;
    ~Unmapping() { done(); }

    /// It has happened.
    void done() noexcept;
    /// It may not have happened, or not in full: what the system still has mapped is as it was.
    void settle() noexcept;

    struct Move {
        std::uintptr_t from;
        std::uintptr_t to;
        std::size_t bytes; ///< that are left of it there
    };
    enum class Left : std::uint8_t { nothing, some, all };
    /// What was found has moved, gaps and all, and was born there as `birth` says. `left`: at the old place; `some`: the
    /// system tells what is, and what has come to the new one.
    void moved(const Move& move, const MappingBirth& birth, Left left) noexcept;

    /// Whether what was found has no gap, from the beginning to the end of what was asked for.
    [[nodiscard]] bool is_whole() const noexcept { return missing_bytes_ == 0; }
    [[nodiscard]] bool is_empty() const noexcept { return pieces_.empty(); }

    [[nodiscard]] std::uint8_t page_shift() const noexcept { return page_shift_; } ///< of an Old's pages

private:
    void take(MappingRecord& record, std::uintptr_t begin, std::uintptr_t end) noexcept;

    MappingSet::Pieces pieces_;
    std::size_t missing_bytes_ = 0;
    std::uint8_t page_shift_ = 12;
};

struct MappingList {
    platform::PageVector<Mapping> mappings; ///< ascending
    std::uint64_t unrecorded = 0;
    bool complete = true; ///< false: no memory for the list
};

/// All that is mapped at a moment.
[[nodiscard]] MappingList read_mappings() noexcept;

} // namespace heapmark::record
