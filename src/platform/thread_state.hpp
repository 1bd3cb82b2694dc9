// SPDX-License-Identifier: BSL-1.0
// The one thread-local structure of heapmark: small, initial-exec, valid when zero, never destroyed.
// It works before main, in signal handlers, after thread-local destructors and in a forked child.
#pragma once

#include <cstdint>

namespace heapmark::capture {
class KnownStacks;
struct RuleCache;
struct StackCache;
} // namespace heapmark::capture
namespace heapmark::record {
struct Context;
struct Ledger;
class SiteCache;
} // namespace heapmark::record

namespace heapmark::platform {

/// Addresses [low, high) that the thread's stack may occupy; both 0 when unknown.
struct StackBounds {
    std::uintptr_t low = 0;
    std::uintptr_t high = 0;
};

struct ThreadState {
    enum class Phase : std::uint8_t { unseen, starting, in_use, ending }; ///< ending: the caches are given back

    std::uint32_t guard_depth; ///< > 0 while heapmark itself allocates: those blocks are never survivors
    std::uint32_t ignore_depth;
    record::Context* context_record; ///< that births are booked on; nullptr before the first one
    std::uint32_t generation;        ///< of the context
    std::uint32_t thread;            ///< ThreadId, 0 before the first allocation
    std::uint32_t tag;               ///< innermost tag_scope
    std::int64_t balance_bytes;      ///< requested minus released by this thread, ignored blocks left out
    StackBounds stack;
    capture::KnownStacks* known_stacks; ///< this and the next three: nullptr: none yet, or the thread is ending
    capture::StackCache* stack_cache;
    capture::RuleCache* rule_cache;
    record::SiteCache* site_cache;
    record::Ledger* ledger;    ///< of accounting; nullptr: none yet, or the thread is ending
    std::uint32_t live_thread; ///< LiveThreadIndex
    Phase phase;
};

static_assert(sizeof(ThreadState) <= 104, "static TLS is scarce: ld.so keeps about 1.6 KB for late initial-exec users");

extern constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

/// Marks the cold path: what this thread allocates while one lives belongs to heapmark itself.
class Guard {
public:
    Guard() noexcept { ++thread_state.guard_depth; }
    ~Guard() { --thread_state.guard_depth; }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
};

} // namespace heapmark::platform
