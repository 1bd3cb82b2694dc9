// SPDX-License-Identifier: BSL-1.0
// heapmark: mark a generation, run something, see what it left behind.
//
//     auto g = heapmark::mark("load");
//     run();
//     std::cout << heapmark::survivors(g);
//
// Unless a function says otherwise: it may be called from any thread at any time after the C library is up,
// including static constructors and destructors; it takes no lock that an allocation takes; memory that it
// needs for itself is never a survivor.
#ifndef HEAPMARK_HEAPMARK_HPP
#define HEAPMARK_HEAPMARK_HPP

#include <heapmark/fwd.hpp>

#include <cstdio>
#include <iosfwd>
#include <string_view>
#include <vector>

namespace heapmark {

// ---------------------------------------------------------------- stacks

/// One return address, with the module it belonged to when it was taken.
/// The module part keeps a frame meaningful after `dlclose`, and after another module took the same addresses.
struct Frame {
    std::uint64_t bits = 0; ///< address in the low 48 bits, module number in the high 16

    /// The return address (for the frame a signal interrupted: the interrupted instruction, plus one).
    [[nodiscard]] std::uintptr_t address() const noexcept
    {
        return static_cast<std::uintptr_t>(bits & 0xffff'ffff'ffffULL);
    }
    /// Number of the module in heapmark's module table; 0 when the address belonged to none.
    [[nodiscard]] std::uint16_t module() const noexcept { return static_cast<std::uint16_t>(bits >> 48); }

    friend bool operator==(Frame a, Frame b) noexcept { return a.bits == b.bits; }
    friend bool operator!=(Frame a, Frame b) noexcept { return a.bits != b.bits; }
};

/// A call stack, innermost frame first: frame 0 is the code that called the allocation function.
/// Shape: a view of an entry in the stack depot, valid until the process ends; copying costs nothing.
/// At most `depth` frames (HEAPMARK_OPTIONS, 32 unless told).
class Stack {
public:
    Stack() noexcept = default;
    Stack(const Frame* frames, std::size_t depth) noexcept : frames_(frames), depth_(depth) {}

    [[nodiscard]] std::size_t size() const noexcept { return depth_; }
    [[nodiscard]] bool empty() const noexcept { return depth_ == 0; }
    [[nodiscard]] Frame operator[](std::size_t index) const noexcept { return frames_[index]; }
    [[nodiscard]] const Frame* begin() const noexcept { return frames_; }
    [[nodiscard]] const Frame* end() const noexcept { return frames_ + depth_; }

    friend bool operator==(const Stack& a, const Stack& b) noexcept
    {
        if (a.depth_ != b.depth_) return false;
        for (std::size_t i = 0; a.frames_ != b.frames_ && i < a.depth_; ++i)
            if (a.frames_[i] != b.frames_[i]) return false;
        return true;
    }
    friend bool operator!=(const Stack& a, const Stack& b) noexcept { return !(a == b); }

private:
    const Frame* frames_ = nullptr;
    std::size_t depth_ = 0;
};

// ---------------------------------------------------------------- blocks

/// How long ago a block was born.
struct Age {
    std::uint64_t generations = 0; ///< marks drawn since the block's generation began
    std::uint64_t nanoseconds = 0; ///< since the block's generation was marked, monotonic clock
};

/// One live block, as it was when the snapshot was taken. `address` may dangle once the block is freed.
struct Block {
    void* address = nullptr;
    std::size_t size = 0;        ///< bytes requested
    std::size_t usable_size = 0; ///< bytes the allocator set aside for it, at least `size`
    Generation generation{};
    Age age;
    heapmark::Stack stack;
    std::string_view tag; ///< innermost tag_scope at birth, "" for none; valid until the process ends
    ThreadId thread{};
    Api api = Api::unknown;
    bool ignored = false; ///< born inside an ignore scope, or forgotten
};

/// Live blocks and their requested bytes.
struct Counts {
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;

    friend bool operator==(Counts a, Counts b) noexcept { return a.blocks == b.blocks && a.bytes == b.bytes; }
    friend bool operator!=(Counts a, Counts b) noexcept { return !(a == b); }
};

/// Live blocks as values, with what a report needs to tell about them.
/// Shape: ordered by address, each block once. Stays valid after the blocks die. Copying copies the list.
/// Threads: a value; share it as one.
class Snapshot {
public:
    using value_type = Block;
    using const_iterator = const Block*;

    Snapshot() noexcept = default;
    Snapshot(const Snapshot& other);
    Snapshot(Snapshot&&) noexcept = default;
    Snapshot& operator=(const Snapshot& other);
    Snapshot& operator=(Snapshot&&) noexcept = default;
    ~Snapshot() = default;

    /// A snapshot of the given blocks, for tests of code that reads snapshots.
    static Snapshot of(const std::vector<Block>& blocks);

    [[nodiscard]] std::size_t size() const noexcept { return blocks_.size(); } ///< blocks
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }      ///< requested bytes
    [[nodiscard]] bool empty() const noexcept { return blocks_.empty(); }
    [[nodiscard]] const Block* begin() const noexcept { return blocks_.data(); }
    [[nodiscard]] const Block* end() const noexcept { return blocks_.data() + blocks_.size(); }
    [[nodiscard]] const Block& operator[](std::size_t index) const noexcept { return blocks_[index]; }

    /// First and last generation that was asked for, both included.
    [[nodiscard]] Generation first() const noexcept { return first_; }
    [[nodiscard]] Generation last() const noexcept { return last_; }

    /// Allocations, since the process began, that were served but could not be recorded (table space ran out).
    /// Not 0 means that the list may miss blocks; reports say so.
    [[nodiscard]] std::uint64_t unrecorded() const noexcept { return unrecorded_; }

    /// The blocks for which pred(block) is true. Cost: one call a block.
    template <class Predicate>
    [[nodiscard]] Snapshot filter(Predicate&& pred) const
    {
        Snapshot kept = without_blocks();
        for (const Block& block : *this)
            if (pred(block)) kept.append(block);
        return kept;
    }

    /// Blocks that share a key, one Group a key.
    /// Shape: largest first (bytes, then blocks, then label). Every block is in exactly one group.
    /// Cost: by_call_site, by_module and by_type look up names, about a microsecond a distinct frame once loaded.
    [[nodiscard]] std::vector<Group> group_by(GroupKey key) const;

    /// What changed from `older` to `newer`; the same as heapmark::diff.
    [[nodiscard]] static Difference diff(const Snapshot& older, const Snapshot& newer);

private:
    friend struct SnapshotAccess;
    [[nodiscard]] Snapshot without_blocks() const;
    void append(const Block& block);

    std::vector<Block> blocks_;
    std::uint64_t bytes_ = 0;
    std::uint64_t unrecorded_ = 0;
    Generation first_{};
    Generation last_{};
};

/// The blocks of one key of Snapshot::group_by.
class Group {
public:
    Group(std::string_view label, Snapshot snapshot) noexcept
        : label_(label), snapshot_(static_cast<Snapshot&&>(snapshot))
    {}

    /// The key in words: "parse(char const*) at parser.cpp:41", "libxml2.so.2", "thread 3" ....
    /// Valid until the process ends.
    [[nodiscard]] std::string_view label() const noexcept { return label_; }
    [[nodiscard]] const Snapshot& snapshot() const noexcept { return snapshot_; }
    [[nodiscard]] std::size_t size() const noexcept { return snapshot_.size(); }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return snapshot_.bytes(); }
    [[nodiscard]] const Block* begin() const noexcept { return snapshot_.begin(); }
    [[nodiscard]] const Block* end() const noexcept { return snapshot_.end(); }
    [[nodiscard]] const Block& front() const noexcept { return snapshot_[0]; }

private:
    std::string_view label_;
    Snapshot snapshot_;
};

/// Blocks by whether two snapshots share them. A block is the same when address, generation, stack and size are.
struct Difference {
    Snapshot appeared; ///< only in the newer one
    Snapshot gone;     ///< only in the older one
    Snapshot kept;     ///< in both
};

/// What changed from `older` to `newer`. Cost: linear in their sizes.
[[nodiscard]] Difference diff(const Snapshot& older, const Snapshot& newer);

// ---------------------------------------------------------------- generations

/// Starts a new generation and returns it. Blocks born from now on, in any thread, belong to it.
/// `name` (copied; nullptr or "" for none) appears in reports.
/// Errors: none; when no memory is left for the name, the generation has none.
/// Threads: any; all marks of a process are totally ordered, and a later mark compares greater.
/// Heap path: allocates nothing from the heap. Async-signal-safe for nullptr names.
/// Cost: O(1), some tens of nanoseconds.
Generation mark(const char* name = nullptr) noexcept;

/// The newest generation: what the last mark() returned, or Generation{0}.
[[nodiscard]] Generation current_generation() noexcept;

/// The name given to mark(), or "". Valid until the process ends.
[[nodiscard]] std::string_view generation_name(Generation generation) noexcept;

/// Whether blocks of ignore scopes and forgotten blocks are listed.
enum class Ignored : bool { leave_out, include };

/// The live blocks born in `first` or any later generation.
/// Threads: other threads keep running. Each block that lived through the whole call is listed, no block is
/// listed twice, and none that was freed before the call. A block born or freed during the call may or may not be listed.
/// A `realloc` is a death and a birth.
/// Errors: blocks that could not be recorded are counted in Snapshot::unrecorded.
/// Heap path: allocates, so not in signal handlers. Throws std::bad_alloc.
/// Cost: grows with the memory touched by allocations since `first`, not with the size of the heap.
[[nodiscard]] Snapshot survivors(Generation first, Ignored ignored = Ignored::leave_out);

/// The live blocks born in `first`..`last`, both included. Otherwise as above.
[[nodiscard]] Snapshot survivors(Generation first, Generation last, Ignored ignored = Ignored::leave_out);

/// Every tracked live block, ignored ones included.
[[nodiscard]] Snapshot live();

/// Live blocks and requested bytes born in `since` or later, ignored ones left out.
/// Exact when no other thread allocates or frees meanwhile; under way, every finished operation is in it.
/// Heap path: allocates nothing; async-signal-safe.
/// Cost: a few nanoseconds for each pair of a thread and a generation since `since`.
[[nodiscard]] Counts counts(Generation since = Generation{}) noexcept;

/// Which threads are meant.
enum class Threads : std::uint8_t {
    all,
    this_one_and_its_children ///< and, in turn, theirs; those that were started in the generations asked for
};

/// What was allocated, whether it is still alive or not.
struct Allocations {
    std::uint64_t blocks = 0;     ///< allocations; a `realloc` is one
    std::uint64_t bytes = 0;      ///< requested by them
    std::uint64_t peak_bytes = 0; ///< most that a thread had requested and not yet released, above what it began with;
                                  ///< where there are several threads, the sum of what each had at most
};

/// What was allocated in `first` or any later generation, ignored blocks left out. A thread begins with its first
/// allocation in the range. What it releases counts for it, whoever allocated it.
/// Exact when the threads asked for are not allocating meanwhile.
/// Heap path: allocates, so not in signal handlers. Throws std::bad_alloc.
/// Cost: some tens of nanoseconds for each pair of a thread and a generation since `first`.
[[nodiscard]] Allocations allocations(Generation first, Threads threads = Threads::all);

/// The same of `first`..`last`, both included.
[[nodiscard]] Allocations allocations(Generation first, Generation last, Threads threads = Threads::all);

/// Blocks born in `first`..`last`, alive or freed: of the freed ones those whose place on the heap has not been used
/// again. For telling where allocations come from that were not meant to be; otherwise as survivors().
[[nodiscard]] Snapshot allocated(Generation first, Generation last);

/// A generation with a beginning in the source.
///
///     heapmark::Scope scope{"request"};
///     serve();
///     CHECK(scope.survivors().empty());
///
/// Scopes may nest and overlap; each starts a generation and looks at everything born since.
class Scope {
public:
    explicit Scope(const char* name = nullptr) noexcept : first_(mark(name)) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    [[nodiscard]] Generation first() const noexcept { return first_; }
    [[nodiscard]] Snapshot survivors() const { return heapmark::survivors(first_); }
    [[nodiscard]] Counts counts() const noexcept { return heapmark::counts(first_); }

private:
    Generation first_;
};

/// While one lives, blocks born in this thread are tracked but are not survivors by default.
/// A thread started meanwhile (directly or through others) is ignored for all its life.
/// Nests. Must be destroyed by the thread that made it.
class [[nodiscard]] ignore {
public:
    ignore() noexcept;
    ~ignore();
    ignore(const ignore&) = delete;
    ignore& operator=(const ignore&) = delete;
};

/// This block is meant to live on: from now on it is tracked but not a survivor by default.
/// Returns whether `block` is the start of a live tracked block; if not, nothing happens.
bool forget(const void* block) noexcept;

/// While one lives, blocks born in this thread carry the tag (copied). Inner scopes win.
/// Must be destroyed by the thread that made it, in reverse order.
/// Errors: after about a million distinct names and tags, new ones are dropped.
class [[nodiscard]] tag_scope {
public:
    explicit tag_scope(const char* tag) noexcept;
    ~tag_scope();
    tag_scope(const tag_scope&) = delete;
    tag_scope& operator=(const tag_scope&) = delete;

private:
    std::uint32_t outer_;
};

// ---------------------------------------------------------------- predicates for Snapshot::filter
// Names are copied.

/// True when a frame of the block's stack, inlined ones included, is in the function.
/// `name` matches with or without its scope, arguments and template arguments: "Parser::load", "load".
class in_function {
public:
    explicit in_function(const char* name);
    [[nodiscard]] bool operator()(const Block& block) const;

private:
    const char* name_;
};

/// True when a frame is in the program or library; `name` is a path, or its end after a '/', or a file name up
/// to ".so" ("libxml2").
class in_module {
public:
    explicit in_module(const char* name);
    [[nodiscard]] bool operator()(const Block& block) const;

private:
    const char* name_;
};

/// True when a frame, inlined ones included, is in the source file; `name` is a path, or its end after a '/'.
class in_file {
public:
    explicit in_file(const char* name);
    [[nodiscard]] bool operator()(const Block& block) const;

private:
    const char* name_;
};

/// True when the block was born in that thread.
class on_thread {
public:
    explicit on_thread(ThreadId thread) noexcept : thread_(thread) {}
    [[nodiscard]] bool operator()(const Block& block) const noexcept { return block.thread == thread_; }

private:
    ThreadId thread_;
};

/// True when the block was born in the thread that made the predicate, or in a thread that it started,
/// directly or through others, at any time or since the given generation began.
class by_this_thread_and_its_children {
public:
    explicit by_this_thread_and_its_children(Generation since = Generation{}) noexcept;
    [[nodiscard]] bool operator()(const Block& block) const noexcept;

private:
    ThreadId root_;
    Generation since_;
};

/// This thread's number.
[[nodiscard]] ThreadId this_thread() noexcept;

// ---------------------------------------------------------------- faults

/// A wrong release that the program survived.
struct Fault {
    enum class Kind : std::uint8_t { mismatched_release, double_free, unknown_free };
    /// What a mismatched release got wrong.
    enum class Mismatch : std::uint8_t { none, function, size, alignment };

    Kind kind{};
    Mismatch mismatch{};
    ThreadId thread{};            ///< that released
    const char* released_by = ""; ///< "free", "delete[]" ....
    void* address = nullptr;
    std::size_t stated = 0; ///< the size or alignment that the release stated, for those mismatches
    heapmark::Stack stack;  ///< of the release
    Block birth;            ///< where the map still had it: address is nullptr if not
};

/// Faults since the process began.
struct Faults {
    std::uint64_t mismatched_releases = 0; ///< new[] with delete, malloc with delete, wrong size or alignment stated
    std::uint64_t double_frees = 0;        ///< not handed to the allocator a second time
    std::uint64_t unknown_frees = 0;       ///< of addresses that heapmark never saw born
    std::vector<Fault> details;            ///< the first 256 of them, oldest first
};

/// Counts and details of faults. Threads: a moving moment. Heap path: allocates.
[[nodiscard]] Faults faults();

// ---------------------------------------------------------------- state

/// What works in this process, found by trying.
struct Status {
    bool malloc_recorded = false; ///< a malloc made now was found in the map
    bool new_recorded = false;    ///< an operator new made now was found in the map
    bool stacks = false;          ///< its stack began in the caller
    std::uint64_t unrecorded = 0; ///< allocations served but not recorded
    std::uint64_t unstacked = 0;  ///< allocations recorded without a stack, for want of depot space
    const char* problem = "";     ///< the first thing that is wrong, with its remedy; "" when all is well
};

/// Allocates and frees a few blocks and looks for them. Cost: microseconds.
[[nodiscard]] Status status() noexcept;

/// Whether allocations are recorded in this process. Call it once at the start of a test suite, which would
/// pass for nothing if the overrides were not linked in.
[[nodiscard]] bool active() noexcept;

/// Keeps the optimiser from removing the allocation that `p` came from (g++ and clang++ remove unused new/delete pairs).
template <class T>
inline void escape(T* p) noexcept
{
    __asm__ volatile("" : : "g"(p) : "memory");
}

// ---------------------------------------------------------------- printing

/// The text report with the defaults of HEAPMARK_OPTIONS; see <heapmark/report.hpp> for more.
std::ostream& operator<<(std::ostream& out, const Snapshot& snapshot);
void print(const Snapshot& snapshot, std::FILE* out);

} // namespace heapmark

#include <heapmark/accounting.hpp>
#include <heapmark/explain.hpp>
#include <heapmark/mappings.hpp>
#include <heapmark/modules.hpp>
#include <heapmark/track.hpp>

#endif
