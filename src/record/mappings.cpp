// SPDX-License-Identifier: BSL-1.0
// The set of mappings behind a lock that a signal handler, and a forked child, may come upon.
//
// A thread that holds the lock has its signals blocked, so no handler of its own can wait for it. Whoever waits has them
// open: a thread may be stopped (platform/stop_world.hpp) while it holds the lock around fork.
#include "record/mappings.hpp"

#include "base/bits.hpp"
#include "platform/memory_regions.hpp"
#include "platform/pages.hpp"
#include "platform/raw_syscall.hpp"
#include "platform/thread_state.hpp"
#include "record/arena.hpp"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <new>
#include <pthread.h>
#include <sys/syscall.h>

namespace heapmark::record {

struct MappingRecord {
    MappingSet set;
    std::uint64_t births = 0;
    std::atomic<const void*> owner{nullptr}; ///< the thread that holds the lock: the address of its ThreadState
    unsigned fork_depth = 0;                 ///< forks that it holds it for: a handler may fork, too

    enum Process : std::uint32_t { another, being_entered, this_one };
    /// Lies in a page that the system clears in a forked child (but not in one that shares its memory, as after vfork).
    std::atomic<std::uint32_t>* process = nullptr;
};

constinit std::atomic<MappingRecord*> mapping_record{nullptr};

namespace {

using platform::raw_syscall;

constexpr long kernel_sigset_bytes = 8;

class BlockedSignals {
public:
    BlockedSignals() noexcept
    {
        const std::uint64_t all = ~std::uint64_t{0};
        raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&all), reinterpret_cast<long>(&before_),
                    kernel_sigset_bytes);
    }
    ~BlockedSignals()
    {
        raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&before_), 0, kernel_sigset_bytes);
    }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;

private:
    std::uint64_t before_ = 0;
};

const void* this_thread_token() noexcept { return &platform::thread_state; }

/// The first in a forked child to need the record. Threads of the parent are gone, and so may be the one that held the
/// lock, in the midst of a change: then the record is given up. After fork() that cannot be (keep_mappings_over_fork);
/// after _Fork() and a plain system call it can. Signals are blocked.
void enter_process(MappingRecord& record) noexcept
{
    std::uint32_t expected = MappingRecord::another;
    if (record.process->compare_exchange_strong(expected, MappingRecord::being_entered)) {
        const void* const owner = record.owner.load();
        if (owner != nullptr && owner != this_thread_token()) {
            const std::uint64_t missing = record.set.unrecorded_count() + record.set.size() + 1;
            new (&record.set) MappingSet; // nothing of it may be read
            record.set.count_unrecorded(missing);
            record.owner.store(nullptr);
        }
        record.process->store(MappingRecord::this_one);
    }
    while (record.process->load() != MappingRecord::this_one) raw_syscall(SYS_sched_yield);
}

bool try_lock(MappingRecord& record) noexcept
{
    if (record.process->load(std::memory_order_acquire) != MappingRecord::this_one) [[unlikely]]
        enter_process(record);
    const void* none = nullptr;
    return record.owner.compare_exchange_strong(none, this_thread_token(), std::memory_order_acquire);
}

void unlock(MappingRecord& record) noexcept { record.owner.store(nullptr, std::memory_order_release); }

void wait_a_moment(unsigned tries) noexcept
{
    const timespec moment{0, 50'000}; // so that a holder of a lower priority comes to run
    if (tries % 64 != 63)
        raw_syscall(SYS_sched_yield);
    else
        raw_syscall(SYS_nanosleep, reinterpret_cast<long>(&moment), 0);
}

/// Calls `work(record, mine)` with the lock held, signals blocked; `mine`: it was held already, around fork, with the set
/// whole. Returns with the lock as `work` leaves it.
template <class Work>
void with_owned(Work work) noexcept
{
    MappingRecord& record = *mapping_record.load(std::memory_order_acquire);
    for (unsigned tries = 0;; ++tries) {
        {
            const BlockedSignals blocked;
            const bool mine = record.owner.load(std::memory_order_relaxed) == this_thread_token();
            if (mine || try_lock(record)) {
                work(record, mine);
                return;
            }
        }
        wait_a_moment(tries);
    }
}

template <class Work>
void with_lock(Work work) noexcept
{
    with_owned([&](MappingRecord& record, bool mine) {
        work(record);
        if (!mine) unlock(record);
    });
}

void before_fork() noexcept
{
    with_owned([](MappingRecord& record, bool) { ++record.fork_depth; });
}

void after_fork() noexcept
{
    with_owned([](MappingRecord& record, bool) {
        if (--record.fork_depth == 0) unlock(record);
    });
}

/// What the system has mapped; everything, where it does not tell.
class SystemsMappings {
public:
    SystemsMappings() noexcept : told_(platform::read_memory_regions(regions_)) {}

    /// Calls `visit(begin, end, mapped)` for the parts of [begin, end), which are mapped or not, in their order.
    template <class Visit>
    void parts(std::uintptr_t begin, std::uintptr_t end, Visit visit) const noexcept
    {
        if (!told_) return visit(begin, end, true);
        const platform::MemoryRegion* region =
            std::partition_point(regions_.begin(), regions_.end(),
                                 [begin](const platform::MemoryRegion& each) { return each.end <= begin; });
        while (begin < end) {
            const bool mapped = region != regions_.end() && region->begin <= begin;
            std::uintptr_t part_end = begin;
            if (mapped)
                for (; region != regions_.end() && region->begin <= part_end; ++region) part_end = region->end;
            else
                part_end = region == regions_.end() ? end : region->begin;
            part_end = std::min(part_end, end);
            visit(begin, part_end, mapped);
            begin = part_end;
        }
    }

private:
    platform::PageVector<platform::MemoryRegion> regions_;
    bool told_;
};

} // namespace

bool start_mappings() noexcept
{
    if (records_mappings()) return true;
    void* const page = platform::map_pages(4096);
    void* const memory = allocate_for_ever(sizeof(MappingRecord));
    if (page == nullptr || memory == nullptr) return false;
    constexpr long wipe_on_fork = 18; // MADV_WIPEONFORK, Linux 4.14
    raw_syscall(SYS_madvise, reinterpret_cast<long>(page), 4096, wipe_on_fork);
    auto* made = new (memory) MappingRecord;
    made->process = static_cast<std::atomic<std::uint32_t>*>(page);
    made->process->store(MappingRecord::this_one);
    MappingRecord* none = nullptr;
    if (!mapping_record.compare_exchange_strong(none, made, std::memory_order_acq_rel))
        platform::unmap_pages(page, 4096);
    return true;
}

void keep_mappings_over_fork() noexcept
{
    // Without memory for the handlers, a child that was forked while another thread held the lock begins anew.
    static_cast<void>(pthread_atfork(before_fork, after_fork, after_fork));
}

void add_mapping(std::uintptr_t begin, std::size_t bytes, const MappingBirth& birth) noexcept
{
    Mapping mapping{begin, begin + base::round_up(bytes, std::size_t{1} << birth.page_shift), begin + bytes, birth};
    mapping.birth.address = begin;
    with_lock([&](MappingRecord& record) {
        mapping.birth.number = ++record.births;
        record.set.put(mapping);
    });
}

void count_unrecorded_mapping() noexcept
{
    with_lock([](MappingRecord& record) { record.set.count_unrecorded(); });
}

void Unmapping::take(MappingRecord& record, std::uintptr_t begin, std::uintptr_t end) noexcept
{
    record.set.take(begin, end, pieces_);
    missing_bytes_ = end - begin;
    record.set.for_pieces(pieces_, [this](const Mapping& piece) { missing_bytes_ -= piece.end - piece.begin; });
}

Unmapping::Unmapping(std::uintptr_t begin, std::uintptr_t end) noexcept
{
    if (begin < end) with_lock([&](MappingRecord& record) { take(record, begin, end); });
}

Unmapping::Unmapping(Old old) noexcept
{
    with_lock([&](MappingRecord& record) {
        if (const Mapping* mapping = record.set.find(old.begin)) page_shift_ = mapping->birth.page_shift;
        take(record, old.begin, old.begin + base::round_up(old.bytes, std::size_t{1} << page_shift_));
    });
}

Unmapping::Unmapping(Segment segment) noexcept
{
    with_lock([&](MappingRecord& record) {
        record.set.take_birth_at(
            segment.address, [](const MappingBirth& birth) { return birth.api == Api::shmat; }, pieces_);
    });
}

void Unmapping::settle() noexcept
{
    if (pieces_.empty()) return;
    const SystemsMappings system;
    with_lock([&](MappingRecord& record) {
        record.set.put_back(pieces_, [&](const Mapping& piece, auto keep) {
            system.parts(piece.begin, piece.end, [&](std::uintptr_t begin, std::uintptr_t end, bool mapped) {
                if (mapped) keep(begin, end);
            });
        });
    });
}

void Unmapping::moved(const Move& move, const MappingBirth& birth, Left left) noexcept
{
    if (pieces_.empty()) return;
    const std::uintptr_t by = move.to - move.from;
    const std::uintptr_t old_end = move.from + base::round_up(move.bytes, std::size_t{1} << page_shift_);
    const SystemsMappings system;
    with_lock([&](MappingRecord& record) {
        const std::uint64_t number = ++record.births;
        const auto is_born = [&](const Mapping& piece, std::uintptr_t begin, std::uintptr_t end) {
            end = std::min(end, old_end);
            if (begin >= end) return;
            const std::uintptr_t asked_end = std::min(piece.requested_end, move.from + move.bytes);
            Mapping there{begin + by, end + by, std::clamp(asked_end, begin, end) + by, birth};
            there.birth.number = number;
            there.birth.address = there.begin;
            record.set.put(there);
        };
        record.set.put_back(pieces_, [&](const Mapping& piece, auto keep) {
            if (left == Left::all) keep(piece.begin, piece.end);
            if (left != Left::some) return is_born(piece, piece.begin, piece.end);
            system.parts(piece.begin, piece.end, [&](std::uintptr_t begin, std::uintptr_t end, bool stayed) {
                if (stayed) return keep(begin, end);
                system.parts(begin + by, end + by, [&](std::uintptr_t new_begin, std::uintptr_t new_end, bool mapped) {
                    if (mapped) is_born(piece, new_begin - by, new_end - by);
                });
            });
        });
    });
}

void Unmapping::done() noexcept
{
    if (!pieces_.empty()) mapping_record.load(std::memory_order_acquire)->set.forget(pieces_);
}

MappingList read_mappings() noexcept
{
    MappingList list;
    if (!records_mappings()) return list;
    with_lock([&](MappingRecord& record) {
        list.unrecorded = record.set.unrecorded_count();
        record.set.visit(
            [&](const Mapping& mapping) { list.complete = list.complete && list.mappings.push_back(mapping); });
    });
    return list;
}

} // namespace heapmark::record
