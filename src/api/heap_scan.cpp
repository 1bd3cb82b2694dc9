// SPDX-License-Identifier: BSL-1.0
#include "api/heap_scan.hpp"

#include "api/mapped_roots.hpp"
#include "platform/bare_threads.hpp"
#include "platform/guarded_copy.hpp"
#include "platform/mapped_memory.hpp"
#include "platform/monotonic_clock.hpp"
#include "platform/raw_syscall.hpp"
#include "record/faults.hpp"
#include "record/recorder.hpp"
#include "record/texts.hpp"
#include "snapshot/heap_blocks.hpp"

#include <algorithm>
#include <sys/syscall.h>

namespace heapmark {
namespace {

using analyse::no_node;
using analyse::Node;
using platform::MemoryRange;

template <class T>
MemoryRange range_of(const T& object) noexcept
{
    const auto begin = reinterpret_cast<std::uintptr_t>(&object);
    return {begin, begin + sizeof object};
}

class Search {
public:
    Search(const Snapshot& snapshot, const ExplainOptions& options, const void* entry_stack, HeapScan& scan) noexcept
        : snapshot_(snapshot), options_(options), entry_stack_(entry_stack), scan_(scan),
          layout_(platform::find_thread_layout()),
          mapped_name_(options.mapped_memory ? record::intern_text("memory from mmap") : record::no_text)
    {}

    void run() noexcept
    {
        const std::uint64_t limit_ns = std::uint64_t{options_.stop_limit_ms} * 1'000'000;
        const std::uint64_t deadline_ns = platform::monotonic_ns() + limit_ns;
        while (try_once(limit_ns, platform::monotonic_ns() >= deadline_ns) == Try::again) {
            const timespec a_moment{0, 100'000};
            platform::raw_syscall(SYS_nanosleep, reinterpret_cast<long>(&a_moment), 0);
        }
        if (record::unrecorded_count() != 0)
            fail() << record::unrecorded_count() << " allocations could not be recorded; what they hold may look lost";
        if (record::clock.end_context() >> record::context_id_bits != 0)
            fail() << "blocks were made after all numbers of threads and generations were given out";
    }

private:
    enum class Try : std::uint8_t { done, again };

    Try try_once(std::uint64_t limit_ns, bool last_try) noexcept
    {
        const platform::StoppedWorld world(limit_ns);
        const platform::FaultGuard faults_are_survived;

        const snapshot::HeapState state = snapshot::read_heap_blocks(scan_.extents);
        if (state == snapshot::HeapState::in_realloc && !last_try) return Try::again;
        if (state == snapshot::HeapState::in_realloc) fail() << "a realloc did not end in time";
        if (state == snapshot::HeapState::out_of_memory || !scan_.index.build(scan_.extents)) {
            out_of_memory();
            return Try::done;
        }
        tell_unstopped(world);
        if (!collect_roots(world) || !search() || !capture_blocks() || !capture_roots(world)) out_of_memory();
        return Try::done;
    }

    platform::Line& fail() noexcept
    {
        // Only the first is told; the others go to a line that nobody reads.
        platform::Line& line = scan_.complete ? scan_.problem : untold_;
        scan_.complete = false;
        return line;
    }
    void out_of_memory() noexcept { fail() << "no memory for the search"; }

    void tell_unstopped(const platform::StoppedWorld& world) noexcept
    {
        if (*world.problem() != '\0') fail() << world.problem();
        for (const platform::UnstoppedThread& thread : world.unstopped())
            fail() << "thread " << static_cast<std::uint64_t>(thread.system_id) << " (" << std::string_view(thread.name)
                   << ") did not stop within " << std::uint64_t{options_.stop_limit_ms} << " ms";
    }

    MemoryRange block_around(std::uintptr_t address) const noexcept
    {
        const Node node = scan_.index.find(address);
        if (node == no_node) return {0, 0};
        return {scan_.extents[node].begin, scan_.extents[node].content_end()};
    }

    bool collect_roots(const platform::StoppedWorld& world) noexcept
    {
        if (!platform::read_memory_regions(regions_)) {
            fail() << "the list of mapped memory could not be read (/proc/self/maps)";
            return false;
        }
        scan_.reachability.set_regions(&regions_);
        platform::RootCollector collector(layout_, regions_);
        if (!add_modules(collector)) return false;

        own_thread_.system_id = static_cast<int>(platform::raw_syscall(SYS_gettid));
        own_thread_.thread = platform::thread_state.thread;
        own_thread_.live = platform::thread_state.live_thread;
        own_thread_.stack = platform::thread_state.stack;
        own_thread_.stack_begin = reinterpret_cast<std::uintptr_t>(entry_stack_);
        own_thread_.thread_pointer = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
        if (!add_thread(collector, own_thread_)) return false;
        for (const platform::ThreadContext& thread : world.threads())
            if (!add_thread(collector, thread)) return false;
        for (const platform::UnstoppedThread& thread : world.unstopped())
            if (!collector.add_unstopped(thread)) return false;
        if (!collector.add_starting_threads() || !collector.add_annotated()) return false;
        if (options_.mapped_memory && !add_mapped(collector, world)) return false;
        scan_.roots = std::move(collector.sorted());
        return true;
    }

    bool add_mapped(platform::RootCollector& collector, const platform::StoppedWorld& world) noexcept
    {
        platform::PageVector<MemoryRange> mapped;
        const platform::MappedState state = platform::read_mapped_memory(mapped);
        if (state == platform::MappedState::untold) {
            fail() << "the system does not tell what memory was mapped (/proc/self/smaps)";
            return true;
        }
        platform::PageVector<MemoryRange> known;
        platform::PageVector<MemoryRange> left;
        if (state != platform::MappedState::known || !collector.list_added(known)) return false;
        // Whole stacks: below the stack pointer lie stale words.
        const auto add_stack = [&](const platform::ThreadContext& thread) {
            return known.push_back({thread.stack.low, thread.stack.high});
        };
        if (!add_stack(own_thread_)) return false;
        for (const platform::ThreadContext& thread : world.threads())
            if (!add_stack(thread)) return false;
        if (!without_known({mapped.begin(), mapped.end()}, {known.begin(), known.end()},
                           {scan_.extents.begin(), scan_.extents.end()}, left))
            return false;
        for (const MemoryRange& range : left)
            if (!collector.add({range.begin, range.end, platform::RootKind::annotated, false, 0, 0, mapped_name_}))
                return false;
        return true;
    }

    /// Of heapmark's own variables only these hold addresses of the program's blocks.
    bool add_modules(platform::RootCollector& collector) noexcept
    {
        platform::PageVector<MemoryRange> own;
        if (!own.push_back(range_of(record::map))) return false;
        for (std::size_t i = 0; i < record::kept_faults; ++i)
            if (const record::FaultDetail* detail = record::kept_fault(i))
                if (!own.push_back(range_of(*detail))) return false;
        std::sort(own.begin(), own.end(), [](MemoryRange a, MemoryRange b) { return a.begin < b.begin; });
        return collector.add_modules(own);
    }

    bool add_thread(platform::RootCollector& collector, const platform::ThreadContext& thread) noexcept
    {
        return collector.add_thread(thread, block_around(thread.stack_begin)) && add_key_blocks(collector, thread);
    }

    /// Thread-specific values of higher keys lie in blocks of 32, which heapmark's own key may have been the first to
    /// need (glibc: PTHREAD_KEY_2NDLEVEL_SIZE pairs of a count and a value).
    bool add_key_blocks(platform::RootCollector& collector, const platform::ThreadContext& thread) noexcept
    {
        constexpr std::size_t key_block_bytes = std::size_t{32} * 16;
        std::uintptr_t words[512];
        const std::size_t wanted = std::min(layout_.descriptor_bytes / sizeof words[0], std::size(words));
        const std::size_t count = platform::guarded_copy(words, thread.thread_pointer, wanted);
        for (std::size_t i = 0; i < count; ++i) {
            if (!snapshot::is_own_block(words[i], key_block_bytes)) continue;
            if (!collector.add({words[i], words[i] + key_block_bytes, platform::RootKind::thread_key, false,
                                thread.thread, thread.system_id}))
                return false;
        }
        return true;
    }

    bool search() noexcept
    {
        if (!find_asked()) return false;
        scan_.reachability.set_pointer_mask(options_.pointer_mask);
        // Dominators are of the whole graph.
        if (!options_.dominated) scan_.reachability.stop_when_reached(wanted_, wanted_count_);
        platform::PageVector<analyse::RootRange> ranges;
        for (const platform::Root& root : scan_.roots)
            if (!ranges.push_back({root.begin, root.end, root.of_allocator})) return false;
        constexpr std::size_t worth_sharing = 8192; // blocks; some 200 us for one processor
        scan_.reachability.share_work(platform::idle_processors, worth_sharing);
        if (!scan_.reachability.search(ranges)) return false;
        scan_.searched = true;
        if (options_.dominated && !scan_.reachability.edges_of_reached(scan_.held_edges)) return false;
        if (options_.holders &&
            !scan_.reachability.pointers_to(wanted_, ranges, scan_.root_holders, scan_.block_holders))
            return false;
        return scan_.reachability.ended_early() || scan_.reachability.edges_of_unreached(scan_.lost_edges);
    }

    bool find_asked() noexcept
    {
        if (!wanted_.resize(scan_.extents.size()) || !scan_.asked.reserve(snapshot_.size())) return false;
        for (const Block& block : snapshot_) {
            Node node = scan_.index.find(reinterpret_cast<std::uintptr_t>(block.address));
            if (node != no_node && !is_still(block)) node = no_node;
            static_cast<void>(scan_.asked.push_back(node)); // room was made above
            if (node == no_node || wanted_[node] != 0) continue;
            wanted_[node] = 1;
            ++wanted_count_;
        }
        return true;
    }

    /// The same birth as in the snapshot, not another block that got its place.
    static bool is_still(const Block& block) noexcept
    {
        const Block now = snapshot::live_block_at(reinterpret_cast<std::uintptr_t>(block.address));
        return now.address == block.address && now.generation == block.generation && now.size == block.size &&
               now.stack == block.stack;
    }

    bool capture_blocks() noexcept
    {
        platform::PageVector<std::uint8_t> needed;
        if (!needed.resize(scan_.extents.size())) return false;
        const auto& reachability = scan_.reachability;
        if (!reachability.ended_early())
            for (Node node = 0; node < scan_.extents.size(); ++node)
                if (!reachability.is_reached(node)) needed[node] = 1;
        for (const Node asked : scan_.asked) {
            for (Node node = asked; node != no_node && needed[node] == 0;) {
                needed[node] = 1;
                const analyse::Link link = reachability.link(node);
                node = link.is_set() && !link.is_root() ? link.node() : no_node;
            }
        }
        // Last: the ways above end where they meet what is needed already.
        for (const analyse::Edge& holder : scan_.block_holders) needed[holder.from] = 1;
        for (Node node = 0; node < needed.size(); ++node)
            if (needed[node] != 0 && !scan_.known.push_back({node, snapshot::live_block_at(scan_.extents[node].begin)}))
                return false;
        return true;
    }

    bool capture_roots(const platform::StoppedWorld& world) noexcept
    {
        platform::PageVector<RootDetail>& details = scan_.root_details;
        const auto add = [&](std::uint32_t root, std::uint64_t offset) {
            const bool is_new = details.empty() || details.back().root != root || details.back().offset != offset;
            return !is_new || details.push_back({root, offset, 0, {}});
        };
        for (const HeapScan::Known& known : scan_.known)
            if (const analyse::Link link = scan_.reachability.link(known.node); link.is_set() && link.is_root())
                if (!add(link.root(), link.offset())) return false;
        for (const analyse::RootPointer& pointer : scan_.root_holders)
            if (!add(pointer.root, pointer.offset)) return false;
        std::sort(details.begin(), details.end());
        find_root_details({details.begin(), details.end()}, {scan_.roots.begin(), scan_.roots.end()}, layout_,
                          own_thread_, {world.threads().begin(), world.threads().end()});
        return true;
    }

    const Snapshot& snapshot_;
    const ExplainOptions& options_;
    const void* entry_stack_;
    HeapScan& scan_;
    platform::ThreadLayout layout_;
    record::TextId mapped_name_;
    platform::ThreadContext own_thread_;
    platform::PageVector<platform::MemoryRegion> regions_;
    platform::PageVector<std::uint8_t> wanted_;
    std::size_t wanted_count_ = 0;
    platform::Line untold_;
};

} // namespace

void scan_heap(const Snapshot& snapshot, const ExplainOptions& options, const void* entry_stack,
               HeapScan& scan) noexcept
{
    Search(snapshot, options, entry_stack, scan).run();
}

} // namespace heapmark
