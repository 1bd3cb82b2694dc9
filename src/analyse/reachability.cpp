// SPDX-License-Identifier: BSL-1.0
// Breadth first, so that the first way found to a block is a shortest one. The queue keeps every block reached.
#include "analyse/reachability.hpp"

#include "platform/bare_threads.hpp"
#include "platform/guarded_copy.hpp"
#include "platform/raw_syscall.hpp"

#include <algorithm>
#include <atomic>
#include <linux/futex.h>
#include <optional>
#include <sys/syscall.h>

namespace heapmark::analyse {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uintptr_t);
constexpr std::uintptr_t page_bytes = 4096;
constexpr std::size_t buffer_words = page_bytes / word_bytes;

} // namespace

/// The first address from `address` on that may be read, with the region it is in.
std::uintptr_t Reachability::Reader::next_readable(std::uintptr_t address) noexcept
{
    if (regions_ == nullptr || (address >= readable_begin_ && address < readable_end_ && readable_begin_ != 0))
        return address;
    const auto* region =
        std::lower_bound(regions_->begin(), regions_->end(), address,
                         [](const platform::MemoryRegion& r, std::uintptr_t value) { return r.end <= value; });
    while (region != regions_->end() && !region->readable) ++region;
    if (region == regions_->end()) return ~std::uintptr_t{0};
    readable_begin_ = region->begin;
    readable_end_ = region->end;
    return std::max(address, region->begin);
}

/// Calls visit(word, address) for each aligned word of [begin, end) that can be read.
template <class Visit>
void Reachability::Reader::read_words(std::uintptr_t begin, std::uintptr_t end, Visit visit) noexcept
{
    std::uintptr_t buffer[buffer_words];
    begin = (begin + word_bytes - 1) & ~(word_bytes - 1);
    for (begin = next_readable(begin); begin < end && end - begin >= word_bytes; begin = next_readable(begin)) {
        const std::uintptr_t readable_to = std::min(end, readable_end_);
        const std::size_t wanted = std::min<std::size_t>((readable_to - begin) / word_bytes, buffer_words);
        const std::size_t count = platform::guarded_copy(buffer, begin, wanted);
        for (std::size_t i = 0; i < count; ++i) visit(buffer[i], begin + i * word_bytes);
        begin += count * word_bytes;
        if (count != wanted) begin = (begin & ~(page_bytes - 1)) + page_bytes; // it went away since
    }
}

Node Reachability::node_at(std::uintptr_t word) const noexcept
{
    const Node node = index_.find(word);
    return node == no_node && pointer_mask_ != ~std::uintptr_t{0} ? index_.find(word & pointer_mask_) : node;
}

/// Calls visit(node, offset) for each word of the range that points to a block; offsets count from its first word.
template <class Visit>
void Reachability::read_root(const RootRange& range, Visit visit) noexcept
{
    const std::uintptr_t first = range.begin & ~(word_bytes - 1);
    reader_.read_words(range.begin, range.end, [&](std::uintptr_t word, std::uintptr_t address) {
        const Node node = node_at(word);
        if (node == no_node) return;
        if (range.of_allocator && word + word_bytes == index_.blocks()[node].content_end()) return;
        visit(node, address - first);
    });
}

void Reachability::reach(Node node, Link link) noexcept
{
    if (links_[node].is_set()) return;
    links_[node] = link;
    if (!queue_.push_back(node)) out_of_memory_ = true;
    if (wanted_ != nullptr && (*wanted_)[node] != 0) --wanted_left_;
}

/// Blocks lie anywhere, so their memory is asked for before its turn.
/// Inlined: g++ 12 drops calls of a function that does nothing else.
[[gnu::always_inline]] inline void Reachability::prefetch_around(std::size_t next, std::size_t end) const noexcept
{
    constexpr std::size_t ahead = 20;
    const std::span<const Extent> blocks = index_.blocks();
    if (next + 2 * ahead < end) __builtin_prefetch(&blocks[queue_[next + 2 * ahead]]);
    if (next + ahead >= end) return;
    const Extent& soon = blocks[queue_[next + ahead]];
    __builtin_prefetch(reinterpret_cast<const void*>(soon.begin));             // NOLINT(performance-no-int-to-ptr)
    __builtin_prefetch(reinterpret_cast<const void*>(soon.content_end() - 1)); // NOLINT: few are in one line
}

/// Calls visit(node, link) for each pointer in the block at this place of the queue, which is known up to `known_end`.
template <class Visit>
void Reachability::follow(std::size_t place, std::size_t known_end, Reader& reader, Visit visit) const noexcept
{
    prefetch_around(place, known_end);
    const Node from = queue_[place];
    const Extent& block = index_.blocks()[from];
    reader.read_words(block.begin, block.content_end(), [&](std::uintptr_t word, std::uintptr_t address) {
        if (const Node to = node_at(word); to != no_node)
            visit(to, Link::from_node(from, (address - block.begin) / word_bytes));
    });
}

/// Reaches what the blocks in these places of the queue point to.
void Reachability::follow_level(std::size_t begin, std::size_t end) noexcept
{
    for (std::size_t next = begin; next < end && !done(); ++next)
        follow(next, queue_.size(), reader_, [this](Node to, Link link) { reach(to, link); });
}

/// The same by several threads: each takes a part of a level after the other, and puts what it reached first into the
/// queue. One level at a time, so that ways stay shortest.
class Reachability::SharedLevels {
public:
    explicit SharedLevels(Reachability& all) noexcept : all_(all), threads_(all.helpers_(), help, this) {}
    ~SharedLevels()
    {
        ended_.store(true, std::memory_order_relaxed);
        wake();
    }
    SharedLevels(const SharedLevels&) = delete;
    SharedLevels& operator=(const SharedLevels&) = delete;

    [[nodiscard]] bool has_help() const noexcept { return threads_.count() != 0; }

    void follow(std::size_t begin, std::size_t end) noexcept
    {
        // Room for all was made before, so places can be handed out by counting.
        next_.store(begin, std::memory_order_relaxed);
        end_ = end;
        queue_end_.store(end, std::memory_order_relaxed);
        busy_.store(threads_.count(), std::memory_order_relaxed);
        wake();
        work();
        for (unsigned looks = 0; busy_.load(std::memory_order_acquire) != 0; ++looks)
            if (looks > 1000) platform::raw_syscall(SYS_sched_yield); // the others may need this processor
        static_cast<void>(all_.queue_.resize(queue_end_.load(std::memory_order_relaxed)));
    }

private:
    static void help(void* shared) noexcept
    {
        auto& self = *static_cast<SharedLevels*>(shared);
        for (std::uint32_t seen = 0;;) {
            std::uint32_t level = self.level_.load(std::memory_order_acquire);
            for (; level == seen; level = self.level_.load(std::memory_order_acquire))
                platform::raw_syscall(SYS_futex, reinterpret_cast<long>(&self.level_), FUTEX_WAIT_PRIVATE, seen, 0);
            seen = level;
            if (self.ended_.load(std::memory_order_relaxed)) return;
            self.work();
            self.busy_.fetch_sub(1, std::memory_order_release);
        }
    }

    void wake() noexcept
    {
        level_.fetch_add(1, std::memory_order_release);
        platform::raw_syscall(SYS_futex, reinterpret_cast<long>(&level_), FUTEX_WAKE_PRIVATE, INT32_MAX);
    }

    void work() noexcept
    {
        constexpr std::size_t part = 256;
        Reader reader(all_.regions_);
        Reached reached(*this);
        for (;;) {
            const std::size_t begin = next_.fetch_add(part, std::memory_order_relaxed);
            if (begin >= end_ || all_.nothing_is_wanted()) return;
            const std::size_t end = std::min(begin + part, end_);
            for (std::size_t next = begin; next < end; ++next)
                all_.follow(next, end, reader, [&reached](Node to, Link link) { reached.add(to, link); });
        }
    }

    /// Blocks that one thread was the first to reach.
    class Reached {
    public:
        explicit Reached(SharedLevels& shared) noexcept : shared_(shared) {}
        ~Reached() { hand_over(); }
        Reached(const Reached&) = delete;
        Reached& operator=(const Reached&) = delete;

        void add(Node node, Link link) noexcept
        {
            const base::AtomicRef place(shared_.all_.links_[node]);
            Link expected = place.load_relaxed();
            if (expected.is_set() || !place.exchange_if_relaxed(expected, link)) return;
            nodes_[count_++] = node;
            if (count_ == std::size(nodes_)) hand_over();
        }

    private:
        void hand_over() noexcept
        {
            Reachability& all = shared_.all_;
            const std::size_t at = shared_.queue_end_.fetch_add(count_, std::memory_order_relaxed);
            std::copy_n(nodes_, count_, all.queue_.data() + at);
            std::size_t wanted = 0;
            if (all.wanted_ != nullptr)
                for (std::size_t i = 0; i < count_; ++i) wanted += (*all.wanted_)[nodes_[i]] != 0 ? 1 : 0;
            if (wanted != 0) base::AtomicRef(all.wanted_left_).subtract_relaxed(wanted);
            count_ = 0;
        }

        SharedLevels& shared_;
        Node nodes_[128];
        std::size_t count_ = 0;
    };

    Reachability& all_;
    std::atomic<std::uint32_t> level_{0};
    std::atomic<bool> ended_{false};
    std::atomic<unsigned> busy_{0};
    std::atomic<std::size_t> next_{0};
    std::size_t end_ = 0;
    std::atomic<std::size_t> queue_end_{0};
    platform::BareThreads threads_; // last: they use all of the above
};

bool Reachability::search(std::span<const RootRange> roots) noexcept
{
    const std::size_t count = index_.blocks().size();
    links_.clear();
    queue_.clear();
    if (!links_.reserve_dense(count) || !links_.resize(count) || !queue_.reserve_dense(count)) return false;

    for (std::uint32_t i = 0; i < roots.size() && !done(); ++i)
        read_root(roots[i],
                  [&](Node node, std::uint64_t offset) { reach(node, Link::from_root(i, offset / word_bytes)); });
    std::optional<SharedLevels> shared;
    for (std::size_t begin = 0; begin < queue_.size() && !done();) {
        const std::size_t end = queue_.size();
        const bool worth_sharing = helpers_ != nullptr && end - begin >= worth_sharing_;
        if (worth_sharing && !shared) shared.emplace(*this);
        if (worth_sharing && shared->has_help())
            shared->follow(begin, end);
        else
            follow_level(begin, end);
        begin = end;
    }
    return !out_of_memory_;
}

void Reachability::add_edges(Node from, bool reached_targets, platform::PageVector<Edge>& edges) noexcept
{
    const Extent& block = index_.blocks()[from];
    reader_.read_words(block.begin, block.content_end(), [&](std::uintptr_t word, std::uintptr_t address) {
        const Node to = node_at(word);
        if (to == no_node || is_reached(to) != reached_targets) return;
        if (!edges.push_back({from, to, address - block.begin})) out_of_memory_ = true;
    });
}

bool Reachability::edges_of_unreached(platform::PageVector<Edge>& edges) noexcept
{
    edges.clear();
    for (Node node = 0; node < index_.blocks().size() && !out_of_memory_; ++node)
        if (!is_reached(node)) add_edges(node, false, edges);
    return !out_of_memory_;
}

bool Reachability::edges_of_reached(platform::PageVector<Edge>& edges) noexcept
{
    edges.clear();
    for (Node node = 0; node < index_.blocks().size() && !out_of_memory_; ++node)
        if (is_reached(node)) add_edges(node, true, edges);
    return !out_of_memory_;
}

bool Reachability::pointers_to(const platform::PageVector<std::uint8_t>& wanted, std::span<const RootRange> roots,
                               platform::PageVector<RootPointer>& from_roots,
                               platform::PageVector<Edge>& edges) noexcept
{
    from_roots.clear();
    edges.clear();
    for (std::uint32_t i = 0; i < roots.size(); ++i)
        read_root(roots[i], [&](Node node, std::uint64_t offset) {
            if (wanted[node] != 0 && !from_roots.push_back({i, node, offset})) out_of_memory_ = true;
        });
    const std::span<const Extent> blocks = index_.blocks();
    for (Node from = 0; from < blocks.size() && !out_of_memory_; ++from) {
        const Extent& block = blocks[from];
        reader_.read_words(block.begin, block.content_end(), [&](std::uintptr_t word, std::uintptr_t address) {
            const Node to = node_at(word);
            if (to == no_node || to == from || wanted[to] == 0) return;
            if (!edges.push_back({from, to, address - block.begin})) out_of_memory_ = true;
        });
    }
    return !out_of_memory_;
}

} // namespace heapmark::analyse
