// SPDX-License-Identifier: BSL-1.0
// explain(), and the value it returns.
#include "analyse/clusters.hpp"
#include "analyse/dominators.hpp"
#include "analyse/immortal_text.hpp"
#include "analyse/lost_groups.hpp"
#include "api/heap_scan.hpp"
#include "api/root_names.hpp"
#include "platform/annotated_roots.hpp"
#include "platform/thread_state.hpp"
#include "record/recorder.hpp"
#include "record/texts.hpp"
#include "snapshot/snapshot_access.hpp"

#include <heapmark/heapmark.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

namespace heapmark {

using analyse::Link;
using analyse::no_node;
using analyse::Node;

/// A block that some path or group may need.
struct KnownBlock {
    Node node;
    Link link;
    Block block;
};

struct ExplanationData {
    Snapshot lost;
    Snapshot held;
    Snapshot gone;
    bool complete = true;
    std::string problem;
    std::vector<LostGroup> groups;
    std::vector<const void*> group_roots; ///< ascending
    std::vector<KnownBlock> known;        ///< by node, and so by address
    std::vector<platform::Root> roots;
    std::vector<RootDetail> root_details; ///< by root and offset
    std::vector<std::uint64_t> dominated; ///< of each block of `held`; empty when not asked for
    std::vector<analyse::RootPointer> root_holders;
    std::vector<analyse::Edge> block_holders;
};

struct ExplanationAccess {
    static Explanation make(ExplanationData* data) noexcept
    {
        Explanation made;
        made.data_ = data;
        return made;
    }
};

namespace {

struct OneSearch;

const Snapshot& nothing() noexcept
{
    static const Snapshot empty;
    return empty;
}

bool contains(const Snapshot& snapshot, const void* address) noexcept
{
    const auto lower = [](const Block& block, const void* value) { return std::less<>{}(block.address, value); };
    const Block* found = std::lower_bound(snapshot.begin(), snapshot.end(), address, lower);
    return found != snapshot.end() && found->address == address;
}

const KnownBlock* find_node(const std::vector<KnownBlock>& known, Node node) noexcept
{
    const auto found = std::lower_bound(known.begin(), known.end(), node,
                                        [](const KnownBlock& k, Node value) { return k.node < value; });
    return found != known.end() && found->node == node ? &*found : nullptr;
}

void sort_survivors(const Snapshot& snapshot, const HeapScan& scan, ExplanationData& data)
{
    data.lost = data.held = data.gone = SnapshotAccess::without_blocks(snapshot);
    for (std::size_t i = 0; i < snapshot.size(); ++i) {
        // Without a search nothing may be called lost.
        const Node node = scan.searched ? scan.asked[i] : no_node;
        Snapshot& list = !scan.searched                       ? data.held
                         : node == no_node                    ? data.gone
                         : scan.reachability.is_reached(node) ? data.held
                                                              : data.lost;
        SnapshotAccess::append(list, snapshot[i]);
    }
}

void group_lost(const HeapScan& scan, ExplanationData& data)
{
    if (data.lost.empty()) return;
    std::vector<Node> nodes;
    for (const HeapScan::Known& known : scan.known)
        if (!scan.reachability.is_reached(known.node)) nodes.push_back(known.node);
    std::vector<Node> survivors(scan.asked.begin(), scan.asked.end());
    std::sort(survivors.begin(), survivors.end());

    for (const analyse::LostGroup& found : analyse::lost_groups(nodes, scan.lost_edges, survivors)) {
        LostGroup group;
        group.blocks = SnapshotAccess::without_blocks(data.lost);
        for (const Node member : found.members)
            if (const KnownBlock* known = find_node(data.known, member); contains(data.lost, known->block.address))
                SnapshotAccess::append(group.blocks, known->block);
        if (group.blocks.empty()) continue;
        group.root = find_node(data.known, found.root)->block;
        for (const analyse::Edge& edge : found.cycle)
            group.cycle.push_back({find_node(data.known, edge.from)->block, edge.offset});
        data.group_roots.push_back(group.root.address);
        data.groups.push_back(std::move(group));
    }
    std::sort(data.group_roots.begin(), data.group_roots.end(), std::less<>{});
    std::stable_sort(data.groups.begin(), data.groups.end(),
                     [](const LostGroup& a, const LostGroup& b) { return a.blocks.bytes() > b.blocks.bytes(); });
}

void weigh_held(const HeapScan& scan, ExplanationData& data)
{
    std::vector<std::uint64_t> bytes;
    std::vector<Node> entries;
    for (Node node = 0; node < scan.extents.size(); ++node) {
        bytes.push_back(scan.extents[node].bytes);
        if (scan.reachability.link(node).is_root()) entries.push_back(node);
    }
    const std::vector<std::uint64_t> dominated = analyse::dominated_bytes(bytes, entries, scan.held_edges);
    for (const Block& block : data.held)
        data.dominated.push_back(dominated[scan.index.find(reinterpret_cast<std::uintptr_t>(block.address))]);
}

void fill(const Snapshot& snapshot, const ExplainOptions& options, const HeapScan& scan, ExplanationData& data)
{
    data.complete = scan.complete;
    data.problem = scan.problem.text();
    if (scan.searched)
        for (const HeapScan::Known& known : scan.known)
            data.known.push_back({known.node, scan.reachability.link(known.node), known.block});
    data.roots.assign(scan.roots.begin(), scan.roots.end());
    data.root_details.assign(scan.root_details.begin(), scan.root_details.end());
    sort_survivors(snapshot, scan, data);
    group_lost(scan, data);
    if (options.dominated && scan.searched) weigh_held(scan, data);
    data.root_holders.assign(scan.root_holders.begin(), scan.root_holders.end());
    data.block_holders.assign(scan.block_holders.begin(), scan.block_holders.end());
}

const KnownBlock* find_address(const std::vector<KnownBlock>& known, const void* address) noexcept
{
    const auto is_lower = [](const KnownBlock& k, const void* value) { return std::less<>{}(k.block.address, value); };
    const auto found = std::lower_bound(known.begin(), known.end(), address, is_lower);
    return found != known.end() && found->block.address == address ? &*found : nullptr;
}

Root root_of(const ExplanationData& data, std::uint32_t root, std::uint64_t offset, std::uintptr_t next)
{
    const RootDetail wanted{root, offset, 0, {}};
    const auto found = std::lower_bound(data.root_details.begin(), data.root_details.end(), wanted);
    const bool is_it = found != data.root_details.end() && !(wanted < *found);
    return root_at(data.roots[root], offset, is_it ? &*found : nullptr, next);
}

} // namespace

Explanation::Explanation() noexcept : data_(nullptr) {}

Explanation::Explanation(const Explanation& other) : data_(nullptr)
{
    const platform::Guard guard;
    if (other.data_ != nullptr) data_ = new ExplanationData(*other.data_);
}

Explanation::Explanation(Explanation&& other) noexcept : data_(other.data_) { other.data_ = nullptr; }

Explanation& Explanation::operator=(const Explanation& other)
{
    Explanation copy(other);
    std::swap(data_, copy.data_);
    return *this;
}

Explanation& Explanation::operator=(Explanation&& other) noexcept
{
    std::swap(data_, other.data_);
    return *this;
}

Explanation::~Explanation()
{
    const platform::Guard guard;
    delete data_;
}

const Snapshot& Explanation::lost() const noexcept { return data_ == nullptr ? nothing() : data_->lost; }
const Snapshot& Explanation::held() const noexcept { return data_ == nullptr ? nothing() : data_->held; }
const Snapshot& Explanation::gone() const noexcept { return data_ == nullptr ? nothing() : data_->gone; }
bool Explanation::complete() const noexcept { return data_ == nullptr || data_->complete; }
std::string_view Explanation::problem() const noexcept
{
    return data_ == nullptr ? "" : std::string_view(data_->problem);
}

Reach Explanation::reach(const void* block) const noexcept
{
    if (contains(held(), block)) return Reach::held;
    if (!contains(lost(), block)) return Reach::gone;
    const auto& roots = data_->group_roots;
    return std::binary_search(roots.begin(), roots.end(), block, std::less<>{}) ? Reach::lost : Reach::indirectly_lost;
}

const std::vector<LostGroup>& Explanation::lost_groups() const noexcept
{
    static const std::vector<LostGroup> none;
    return data_ == nullptr ? none : data_->groups;
}

Path Explanation::path(const void* block) const
{
    const platform::Guard guard;
    Path path;
    if (!contains(held(), block)) return path;
    const auto& known = data_->known;
    const KnownBlock* at = find_address(known, block);
    std::size_t offset = 0;
    while (at != nullptr) {
        path.steps.push_back({at->block, offset});
        offset = at->link.offset();
        if (at->link.is_root()) {
            std::uintptr_t next = 0;
            if (path.steps.size() > 1)
                next = reinterpret_cast<std::uintptr_t>(at->block.address) + path.steps.back().offset;
            path.root = root_of(*data_, at->link.root(), offset, next);
            break;
        }
        at = find_node(known, at->link.node());
    }
    std::reverse(path.steps.begin(), path.steps.end());
    return path;
}

std::vector<Cluster> Explanation::clusters() const
{
    const platform::Guard guard;
    if (data_ == nullptr) return {};
    std::vector<analyse::HeldBlock> held;
    held.reserve(data_->held.size());
    for (const Block& block : data_->held) held.push_back({&block, path(block.address)});
    return analyse::clusters(held, data_->held);
}

std::vector<Holder> Explanation::holders(const void* block) const
{
    const platform::Guard guard;
    std::vector<Holder> list;
    const KnownBlock* const asked = data_ == nullptr ? nullptr : find_address(data_->known, block);
    if (asked == nullptr) return list;
    for (const analyse::RootPointer& pointer : data_->root_holders)
        if (pointer.to == asked->node) list.push_back({root_of(*data_, pointer.root, pointer.offset, 0), {}, 0});
    for (const analyse::Edge& edge : data_->block_holders)
        if (edge.to == asked->node) list.push_back({{}, find_node(data_->known, edge.from)->block, edge.offset});
    return list;
}

std::uint64_t Explanation::dominated_bytes(const void* block) const noexcept
{
    if (data_ == nullptr || data_->dominated.empty()) return 0;
    const auto is_lower = [](const Block& b, const void* value) { return std::less<>{}(b.address, value); };
    const Block* const found = std::lower_bound(data_->held.begin(), data_->held.end(), block, is_lower);
    if (found == data_->held.end() || found->address != block) return 0;
    return data_->dominated[static_cast<std::size_t>(found - data_->held.begin())];
}

bool add_root(const void* begin, const void* end, const char* name) noexcept
{
    const auto first = reinterpret_cast<std::uintptr_t>(begin);
    const auto last = reinterpret_cast<std::uintptr_t>(end);
    if (first == 0 || first >= last) return false;
    return platform::add_annotated_root({first, last}, record::intern_text(name == nullptr ? "" : name));
}

bool remove_root(const void* begin) noexcept
{
    return platform::remove_annotated_root(reinterpret_cast<std::uintptr_t>(begin));
}

[[gnu::noinline]] void wipe_dead_stack() noexcept
{
    char dead[16384];
    std::memset(dead, 0, sizeof dead);
    escape(&dead[0]);
}

void clear_new_blocks(bool yes) noexcept { record::clears_new_blocks.store(yes, std::memory_order_relaxed); }

Snapshot block_around(const void* address)
{
    const platform::Guard guard;
    const auto number = reinterpret_cast<std::uintptr_t>(address);
    Block block = snapshot::live_block_at(number);
    if (block.address == nullptr) block = snapshot::live_block_at(record::block_around(number));
    return block.address == nullptr ? Snapshot() : Snapshot::of({block});
}

extern "C" void heapmark_explain_from(Explanation* result, const Snapshot* snapshot, const ExplainOptions* options,
                                      const void* entry_stack) __attribute__((visibility("hidden"), used));

extern "C" void heapmark_explain_from(Explanation* result, const Snapshot* snapshot, const ExplainOptions* options,
                                      const void* entry_stack)
{
    const platform::Guard guard;
    if (snapshot->empty()) {
        new (result) Explanation;
        return;
    }
    auto data = std::make_unique<ExplanationData>();
    {
        const analyse::ColdLock<OneSearch> lock;
        HeapScan scan;
        scan_heap(*snapshot, *options, std::max(entry_stack, options->stack_begin), scan);
        fill(*snapshot, *options, scan, *data);
    }
    new (result) Explanation(ExplanationAccess::make(data.release()));
}

// The search must see the caller's stack and kept registers as they are, and nothing of heapmark's own frames, where
// addresses of the survivors lie about. So the way in puts the registers onto the stack and tells where that is.
#if defined(__x86_64__)
// Explanation explain(const Snapshot&, const ExplainOptions&). Not as a naked function, which clang++ 14 cannot compile
// without optimisation where the result is a class.
#define HEAPMARK_EXPLAIN "_ZN8heapmark7explainERKNS_8SnapshotERKNS_14ExplainOptionsE"
asm(".text\n"
    ".globl " HEAPMARK_EXPLAIN "\n"
    ".hidden " HEAPMARK_EXPLAIN "\n"
    ".type " HEAPMARK_EXPLAIN ", @function\n" HEAPMARK_EXPLAIN ":\n\t"
    ".cfi_startproc\n\t"
    "push %rbx\n\t.cfi_adjust_cfa_offset 8\n\t"
    "push %rbp\n\t.cfi_adjust_cfa_offset 8\n\t"
    "push %r12\n\t.cfi_adjust_cfa_offset 8\n\t"
    "push %r13\n\t.cfi_adjust_cfa_offset 8\n\t"
    "push %r14\n\t.cfi_adjust_cfa_offset 8\n\t"
    "push %r15\n\t.cfi_adjust_cfa_offset 8\n\t"
    "mov %rsp, %rcx\n\t" // fourth argument
    "push %rdi\n\t.cfi_adjust_cfa_offset 8\n\t"
    "call heapmark_explain_from\n\t"
    "pop %rax\n\t.cfi_adjust_cfa_offset -8\n\t" // where the result was to go
    "pop %r15\n\t.cfi_adjust_cfa_offset -8\n\t"
    "pop %r14\n\t.cfi_adjust_cfa_offset -8\n\t"
    "pop %r13\n\t.cfi_adjust_cfa_offset -8\n\t"
    "pop %r12\n\t.cfi_adjust_cfa_offset -8\n\t"
    "pop %rbp\n\t.cfi_adjust_cfa_offset -8\n\t"
    "pop %rbx\n\t.cfi_adjust_cfa_offset -8\n\t"
    "ret\n\t"
    ".cfi_endproc\n"
    ".size " HEAPMARK_EXPLAIN ", . - " HEAPMARK_EXPLAIN "\n");
#else
#error "heapmark: explain is not written for this processor yet"
#endif

} // namespace heapmark
