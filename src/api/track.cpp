// SPDX-License-Identifier: BSL-1.0
// Tracked resources: a tree of them by name, each with the list of its references. Not on the heap path.
#include "analyse/immortal_text.hpp"
#include "capture/capture.hpp"
#include "platform/monotonic_clock.hpp"
#include "platform/options.hpp"
#include "platform/thread_state.hpp"
#include "record/contexts.hpp"
#include "record/depot.hpp"
#include "record/generations.hpp"
#include "record/texts.hpp"
#include "snapshot/snapshot_access.hpp"

#include <heapmark/track.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

namespace heapmark {
namespace {

namespace intrusive = boost::intrusive;

/// When, where and by whom something began.
struct Beginning {
    std::uint32_t generation;
    std::uint32_t thread;
    std::uint32_t site;
};

struct Reference : intrusive::list_base_hook<> {
    Beginning beginning;
    const void* holder;
};
struct Delete {
    template <class T>
    void operator()(T* object) const noexcept
    {
        delete object;
    }
};

struct Resource : intrusive::set_base_hook<> {
    using Name = std::pair<record::TextId, const void*>;

    Name name;
    std::size_t bytes;
    Beginning beginning;
    intrusive::list<Reference> references; ///< latest first

    Resource(Name its_name, std::size_t its_bytes, Beginning its_beginning)
        : name(its_name), bytes(its_bytes), beginning(its_beginning)
    {}
    ~Resource() { references.clear_and_dispose(Delete{}); }
    Resource(const Resource&) = delete;
    Resource& operator=(const Resource&) = delete;
};
struct NameOf {
    using type = Resource::Name;
    const type& operator()(const Resource& resource) const noexcept { return resource.name; }
};
using Resources = intrusive::set<Resource, intrusive::key_of_value<NameOf>>;

struct ResourcesLock {};
using Lock = analyse::ColdLock<ResourcesLock>;

Resources& resources() { return analyse::immortal<Resources>(); }

Resource::Name name_of(const void* id, const char* kind) noexcept
{
    return {record::intern_text(kind == nullptr ? "" : kind), id};
}

/// The resource of that name and, where there is one, what becomes of it. The caller holds a Guard.
template <class Change>
bool change(const void* id, const char* kind, Change what)
{
    const Resource::Name name = name_of(id, kind);
    const Lock lock;
    const auto found = resources().find(name);
    return found != resources().end() && what(*found);
}

Beginning beginning_here(Api api, const capture::Caller& caller)
{
    const platform::ThreadState& thread = platform::thread_state;
    std::uint64_t buffer[capture::max_depth_frames];
    const auto depth = static_cast<unsigned>(platform::options().depth);
    const std::span<const std::uint64_t> frames(
        buffer, capture::capture_stack(caller, thread.stack, thread.rule_cache, buffer, depth));
    const record::SiteKey key{api, 0, thread.tag};
    return {record::clock.generation(), static_cast<std::uint32_t>(this_thread()),
            record::intern_site(record::site_hash(key, frames), key, frames)};
}

Block block_of(const Resource& resource, const Beginning& beginning, Api api, std::size_t bytes, std::uint64_t now_ns)
{
    Block block;
    block.address = const_cast<void*>(resource.name.second);
    block.size = bytes;
    block.usable_size = bytes;
    block.generation = Generation{beginning.generation};
    block.age = {record::clock.generation() - beginning.generation, record::age_ns(beginning.generation, now_ns)};
    block.tag = record::text(resource.name.first);
    block.thread = ThreadId{beginning.thread};
    block.api = api;
    if (const record::Site* site = record::site(beginning.site))
        block.stack = Stack(reinterpret_cast<const Frame*>(site->frames()), site->depth_frames);
    return block;
}

/// A snapshot of what `list(resource, add)` adds.
template <class List>
Snapshot snapshot_of(Generation first, Generation last, List list)
{
    const platform::Guard guard;
    std::vector<Block> blocks;
    const std::uint64_t now_ns = platform::monotonic_ns();
    {
        const Lock lock;
        for (const Resource& resource : resources())
            list(resource, [&](const Beginning& beginning, Api api, std::size_t bytes) {
                const Generation generation{beginning.generation};
                if (first <= generation && generation <= last)
                    blocks.push_back(block_of(resource, beginning, api, bytes, now_ns));
            });
    }
    return SnapshotAccess::make(std::move(blocks), first, last, 0);
}

} // namespace

// The stack is that of the caller: these keep frame pointers, and must not be inlined.

[[gnu::noinline]] bool track(const void* id, std::size_t bytes, const char* kind)
{
    const platform::Guard guard;
    auto resource = std::make_unique<Resource>(name_of(id, kind), bytes,
                                               beginning_here(Api::track, capture::caller_of(HEAPMARK_FRAME())));
    const Lock lock;
    const bool is_new = resources().insert(*resource).second;
    if (is_new) static_cast<void>(resource.release()); // the tree's now
    return is_new;
}

bool resize(const void* id, std::size_t bytes, const char* kind)
{
    const platform::Guard guard;
    return change(id, kind, [bytes](Resource& resource) {
        resource.bytes = bytes;
        return true;
    });
}

bool untrack(const void* id, const char* kind)
{
    const platform::Guard guard;
    return change(id, kind, [](Resource& resource) {
        resources().erase_and_dispose(resources().iterator_to(resource), Delete{});
        return true;
    });
}

[[gnu::noinline]] bool retain(const void* id, const char* kind, const void* holder)
{
    const platform::Guard guard;
    auto reference = std::make_unique<Reference>();
    reference->beginning = beginning_here(Api::retain, capture::caller_of(HEAPMARK_FRAME()));
    reference->holder = holder;
    return change(id, kind, [&reference](Resource& resource) {
        resource.references.push_front(*reference.release()); // the list's now
        return true;
    });
}

bool release(const void* id, const char* kind, const void* holder)
{
    const platform::Guard guard;
    return change(id, kind, [holder](Resource& resource) {
        const auto found = std::find_if(resource.references.begin(), resource.references.end(),
                                        [holder](const Reference& reference) { return reference.holder == holder; });
        if (found == resource.references.end()) return false;
        resource.references.erase_and_dispose(found, Delete{});
        return true;
    });
}

Snapshot tracked(Generation first, Generation last)
{
    return snapshot_of(first, last,
                       [](const Resource& resource, auto add) { add(resource.beginning, Api::track, resource.bytes); });
}

Snapshot outermost(const Snapshot& resources)
{
    const platform::Guard guard;
    std::vector<Block> sorted(resources.begin(), resources.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const Block& a, const Block& b) {
        return a.address != b.address ? std::less<>{}(a.address, b.address) : a.size > b.size;
    });
    Snapshot kept = SnapshotAccess::without_blocks(resources);
    const char* end = nullptr; // of the last one that was kept and has bytes
    for (const Block& block : sorted) {
        const char* const its_end = static_cast<const char*>(block.address) + block.size;
        const bool is_inside = block.size != 0 && !std::less<>{}(end, its_end);
        if (is_inside) continue;
        SnapshotAccess::append(kept, block);
        if (block.size != 0) end = its_end;
    }
    return kept;
}

Snapshot references(Generation first, Generation last)
{
    return snapshot_of(first, last, [](const Resource& resource, auto add) {
        for (const Reference& reference : resource.references) add(reference.beginning, Api::retain, 0);
    });
}

} // namespace heapmark
