// SPDX-License-Identifier: BSL-1.0
// Names, ids and small enumerations of heapmark. No containers, no streams.
#ifndef HEAPMARK_FWD_HPP
#define HEAPMARK_FWD_HPP

#include <cstddef>
#include <cstdint>

namespace heapmark {

/// A point in time drawn by mark(). Later marks compare greater; Generation{0} began with the process.
enum class Generation : std::uint64_t {};

/// heapmark's own number of a thread, never used twice in one process. The first thread seen is 1; 0 is "unknown".
enum class ThreadId : std::uint32_t {};

/// The allocation function that a block came from.
enum class Api : std::uint8_t {
    unknown,
    malloc,
    calloc,
    realloc,
    reallocarray,
    memalign,
    posix_memalign,
    aligned_alloc,
    valloc,
    pvalloc,
    operator_new,
    operator_new_array,
    operator_new_aligned,
    operator_new_array_aligned,
    track, ///< no function of the allocator: <heapmark/track.hpp>
    retain,
    mmap, ///< this and the next two: <heapmark/mappings.hpp>
    mremap,
    shmat,
};

/// How the source names it: "malloc", "new[]", "aligned new" ....
/// Shape: a string literal. Threads: any. Heap path: allocates nothing.
const char* to_string(Api api) noexcept;

/// What Snapshot::group_by sorts blocks by.
enum class GroupKey : std::uint8_t { call_site, stack, module, thread, generation, type, tag };

/// The innermost frame that is not the allocator's, heapmark's or the C++ library's.
inline constexpr GroupKey by_call_site = GroupKey::call_site;
/// The whole stack.
inline constexpr GroupKey by_stack = GroupKey::stack;
/// The program or shared library of the call site. The name outlives `dlclose`.
inline constexpr GroupKey by_module = GroupKey::module;
inline constexpr GroupKey by_thread = GroupKey::thread;
inline constexpr GroupKey by_generation = GroupKey::generation;
/// What the block is: named by HEAPMARK_TYPE; else what the functions that asked for it prove ("std::vector<Node> buffer",
/// "std::make_shared<Node> block"); else the dynamic type of the polymorphic object at its start, where a vtable tells, or
/// "coroutine frame of read(Socket&)"; else "(unknown type)".
inline constexpr GroupKey by_type = GroupKey::type;
/// The tag_scope that the block was born in; "(no tag)" for none.
inline constexpr GroupKey by_tag = GroupKey::tag;

class Stack;
class Snapshot;
class Group;
class Scope;
struct Block;
struct Counts;
struct Difference;
struct Fault;
struct Faults;
struct Frame;
struct Status;

} // namespace heapmark

#endif
