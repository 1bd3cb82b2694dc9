// SPDX-License-Identifier: BSL-1.0
// Why blocks are still alive: lost, or held, and by whom. Included by heapmark.hpp.
//
//     auto why = heapmark::explain(heapmark::survivors(g));
//     CHECK(why.complete());
//     CHECK(why.lost().empty());
//     std::cout << why;
#ifndef HEAPMARK_EXPLAIN_HPP
#define HEAPMARK_EXPLAIN_HPP

#include <heapmark/heapmark.hpp>

namespace heapmark {

/// Whether the program can still get to a block.
enum class Reach : std::uint8_t {
    held,            ///< a root leads to it
    lost,            ///< nothing points to it, or it is on a cycle that nothing else points to
    indirectly_lost, ///< only lost blocks lead to it
    gone,            ///< freed before the search
};

/// Where a way to a block begins.
struct Root {
    enum class Kind : std::uint8_t {
        data,            ///< global or static variable
        thread_storage,  ///< thread_local variable
        thread_key,      ///< value of pthread_setspecific
        thread_argument, ///< argument of a thread's function
        stack,           ///< variable of a running function
        registers,       ///< of a running function
        annotated,       ///< region named by add_root, or ("memory from mmap") searched because of mapped_memory
        loader,          ///< records of the dynamic loader
    };

    Kind kind{};
    ThreadId thread{};             ///< that it belongs to, where it belongs to one that heapmark has seen
    const void* address = nullptr; ///< of the pointer; a register's has none
    /// Of the variable ("registry"), of the function whose frame or register it is ("draw(Scene&)"), or given to add_root;
    /// "" when unknown. Valid until the process ends.
    std::string_view name;
    std::string_view module; ///< path of the variable's or function's module
    std::size_t offset = 0;  ///< of the pointer in the variable or region
    int key = -1;            ///< of pthread_setspecific, where it is a value of that; else -1
};

/// One block on a way, and where the pointer to the next one lies in it.
struct Step {
    Block block;
    std::size_t offset = 0; ///< of the pointer to the next step's block; of no meaning in a path's last step
};

/// A shortest way from a root to a block.
struct Path {
    heapmark::Root root;
    std::vector<Step> steps; ///< the last one is the block itself
};

/// Lost blocks under the one that nothing points to.
struct LostGroup {
    Block root;              ///< may be older than the survivors asked about
    std::vector<Step> cycle; ///< blocks that keep each other alive, `root` first; empty when it is on no cycle
    Snapshot blocks;         ///< the survivors among root and what it leads to
};

/// A pointer to a block.
struct Holder {
    heapmark::Root root;    ///< where it lies, unless `block` is set
    Block block;            ///< the block that it lies in; its address is nullptr for a root's
    std::size_t offset = 0; ///< of the pointer in `block`
};

/// Held survivors that hang on the same holder: an older block, or a variable.
struct Cluster {
    Path path;               ///< from the root through the holder to the first survivor: cut before its last step
    Snapshot blocks;         ///< the survivors
    std::size_t entries = 0; ///< how many of them the holder points to itself
};

struct ExplanationData;

/// What a search for holders found. A value: stays valid when the blocks die.
class Explanation {
public:
    Explanation() noexcept;
    Explanation(const Explanation& other);
    Explanation(Explanation&& other) noexcept;
    Explanation& operator=(const Explanation& other);
    Explanation& operator=(Explanation&& other) noexcept;
    ~Explanation();

    /// Survivors that the program cannot get to any more, with what only lost blocks hold.
    [[nodiscard]] const Snapshot& lost() const noexcept;
    /// Survivors that it can get to.
    [[nodiscard]] const Snapshot& held() const noexcept;
    /// Blocks of the snapshot that had been freed when the search began.
    [[nodiscard]] const Snapshot& gone() const noexcept;

    /// False when the search could not be made in full: what is called lost may be held then.
    [[nodiscard]] bool complete() const noexcept;
    /// Why it could not: "thread 12 (worker) did not stop within 1000 ms"; "" when complete.
    [[nodiscard]] std::string_view problem() const noexcept;

    /// What became of one block of the snapshot; `gone` for any other.
    [[nodiscard]] Reach reach(const void* block) const noexcept;

    /// Lost blocks by what they hang on, largest first (requested bytes of the survivors).
    [[nodiscard]] const std::vector<LostGroup>& lost_groups() const noexcept;

    /// A shortest way to a held block of the snapshot; no steps for any other.
    [[nodiscard]] Path path(const void* block) const;

    /// Held blocks by what they hang on, largest first.
    /// Cost: names are looked up, about a microsecond a root once loaded.
    [[nodiscard]] std::vector<Cluster> clusters() const;

    /// Requested bytes that would go if this held block of the snapshot went: its own, and those of all blocks, older ones
    /// too, to which every way leads through it (its subtree of the dominator tree). 0 for any other block, and for all
    /// unless ExplainOptions::dominated was set.
    [[nodiscard]] std::uint64_t dominated_bytes(const void* block) const noexcept;

    /// Every pointer to a block of the snapshot, roots' first, then by the address of the block that it lies in; those in
    /// the block itself are left out. Blocks that are lost themselves are listed too. Empty for any other block, and for all
    /// unless ExplainOptions::holders was set.
    [[nodiscard]] std::vector<Holder> holders(const void* block) const;

private:
    friend struct ExplanationAccess;
    ExplanationData* data_; ///< nullptr: nothing was asked
};

struct ExplainOptions {
    unsigned stop_limit_ms = 1000; ///< for threads to stop
    bool holders = false;   ///< also find every pointer to the blocks: Explanation::holders. Reads the whole heap
    bool dominated = false; ///< also find what would go with each held block: Explanation::dominated_bytes.
                            ///< Reads the whole heap, and takes some 40 bytes for each block and pointer in it
    /// Also search memory that the program got from mmap, shared memory among it: as if all of it were named with add_root.
    /// Stale words count as well, in stacks of threads that ended for one. Incomplete where /proc/self/smaps does not tell
    /// flags. Cost: some 10 ms for each gigabyte in use.
    bool mapped_memory = false;
    /// A word that is no pointer as it is also counts when its bits outside the mask are cleared: for pointers with tags in
    /// their upper bits, ~(0xffffULL << 48). Tags in the lowest bits need no mask: they point into the block.
    std::uintptr_t pointer_mask = ~std::uintptr_t{0};
    /// An address of this thread's stack: what lies below it and what is in registers holds nothing, as it is of functions
    /// that only look on. nullptr: the caller's frame and its registers count, too.
    const void* stack_begin = nullptr;
};

/// Sorts the blocks of a snapshot by whether the program can still get to them. An empty snapshot costs nothing.
/// All other threads stand still meanwhile; system calls that wait (sleep, poll) may return early in them, with EINTR.
/// The search goes by what could be a pointer: an integer that looks like one holds a block, and so does a dead
/// variable whose memory has not been used again. Pointers that are changed (tagged in the upper bits, XORed) hold nothing,
/// unless ExplainOptions::pointer_mask undoes it; nor do those in memory from mmap, unless it is named with add_root or
/// ExplainOptions::mapped_memory asks for all of it.
/// Errors: see Explanation::complete.
/// Threads: any, one search at a time. Heap path: allocates; not in signal handlers. Throws std::bad_alloc.
/// Cost: grows with the memory in use: some 100 ns a live block.
[[nodiscard]] Explanation explain(const Snapshot& snapshot, const ExplainOptions& options = ExplainOptions());

/// The tracked live block that starts at `address` or holds it, as a snapshot of one block; empty when none does.
[[nodiscard]] Snapshot block_around(const void* address);

/// Whether a root leads to the block that starts at `address` or holds it. The variable that you ask with is a root
/// like any other: keep the address in another form (inverted, say) while it should not count.
/// Errors, threads, cost: as explain. False when there is no such block; true when the search could not be made.
[[nodiscard]] inline bool is_reachable(const void* address)
{
    const Explanation why = explain(block_around(address));
    return !why.held().empty() || !why.complete();
}

/// Every pointer to the block that starts at `address` or holds it, the variable that you ask with included.
/// Shape: as Explanation::holders. Errors: empty when there is no such block, or the search could not be made.
/// Threads: as explain. Cost: reads the whole heap.
[[nodiscard]] inline std::vector<Holder> holders(const void* address)
{
    const Snapshot block = block_around(address);
    ExplainOptions options;
    options.holders = true;
    if (block.empty()) return {};
    return explain(block, options).holders(block[0].address);
}

/// From now on every aligned word of [begin, end) may point to a block: a pool of one's own, memory from mmap or shared
/// with others. `name` (copied; nullptr or "" for none) stands in reports. Pages that cannot be read are passed by.
/// Errors: false for an empty range, and when no memory is left for it (after about a million roots at once).
/// Threads: any. Heap path: allocates nothing from the heap; async-signal-safe for nullptr names.
bool add_root(const void* begin, const void* end, const char* name = nullptr) noexcept;

/// Takes back one root that begins there; false when there is none. Do so before the memory is given back: what comes to
/// lie there next would count. Threads, heap path: as add_root.
bool remove_root(const void* begin) noexcept;

/// From now on, in all threads, blocks that malloc, new and their like give are zero at first, and so is what realloc adds;
/// those of more than 64 KiB are left as they are. Memory that is used again then no longer seems to hold what it held
/// before, so that explain overlooks fewer lost blocks. The test frameworks' adapters ask for it with Policy::lost, and so
/// does HEAPMARK_OPTIONS=explain_at_exit=1. A program that reads what it has not written behaves otherwise then.
/// Threads: any; async-signal-safe. Cost: 5 to 10 ns for a block of less than a kilobyte.
void clear_new_blocks(bool yes = true) noexcept;

/// Clears what ended functions have left below the caller's frame: it would lie in unused parts of the frames that come
/// next, and seem to hold blocks. Call it before the function that asks explain. Cost: about 0.4 us.
void wipe_dead_stack() noexcept;

/// Says what a live block is, for by_type and for reports: HEAPMARK_TYPE(pool.take(), Node). `type` is copied; "" takes it
/// back. It goes before what vtables and stacks tell.
/// Shape: whether `block` is the start of a live tracked block; if not, nothing happens. What was said ends with the block,
/// unless an equal one (of the same stack, thread, generation and size) is born in its place: say it of each.
/// Threads: any. Heap path: allocates, takes a lock; not in signal handlers. Throws std::bad_alloc.
bool set_type(const void* block, const char* type);
#define HEAPMARK_TYPE(block, ...) (static_cast<void>(sizeof(__VA_ARGS__)), ::heapmark::set_type((block), #__VA_ARGS__))

/// Lost groups and clusters in words.
std::ostream& operator<<(std::ostream& out, const Explanation& explanation);
void print(const Explanation& explanation, std::FILE* out);

} // namespace heapmark

#endif
