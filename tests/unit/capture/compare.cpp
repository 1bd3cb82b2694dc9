// SPDX-License-Identifier: BSL-1.0
// The comparison with _Unwind_Backtrace.
#include "compare.hpp"

#include "unwound.hpp"

#include "platform/modules.hpp"
#include "platform/stack_bounds.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace capture_test {
namespace {

using heapmark::capture::Caller;
using heapmark::capture::max_depth_frames;
using heapmark::capture::RuleCache;
using heapmark::platform::StackBounds;

struct Thread {
    void* cache;
    StackBounds stack;
};
thread_local Thread thread;

using Oracle = Unwound<oracle_depth_frames>;

bool frames_match(const Oracle& oracle, const std::uint64_t* frames, unsigned count, Comparison& result)
{
    const unsigned expected = std::min(oracle.count, max_depth_frames);
    for (unsigned i = 0; i < expected; ++i) {
        const auto* module = heapmark::platform::module_at(oracle.pcs[i] - 1);
        const std::uint64_t id = module == nullptr ? 0 : module->id;
        if (i >= count || frames[i] != (oracle.pcs[i] | id << 48)) {
            result.differs_at = i;
            return false;
        }
    }
    result.differs_at = expected;
    return count == expected;
}

[[gnu::noinline]] Comparison compare(const Caller& caller) noexcept
{
    Oracle oracle{caller.pc};
    oracle.take();

    Comparison result;
    std::uint64_t frames[max_depth_frames];
    auto* cache = static_cast<RuleCache*>(thread.cache);
    const struct {
        const char* name;
        StackBounds stack;
        RuleCache* cache;
    } ways[] = {
        {"no cache", thread.stack, nullptr},      {"cache as it is", thread.stack, cache},
        {"warm cache", thread.stack, cache},      {"warm cache, unknown stack", {}, cache},
        {"no cache, unknown stack", {}, nullptr},
    };
    for (const auto& way : ways) {
        result.way = way.name;
        std::memset(frames, 0xff, sizeof frames);
        result.depth = heapmark::capture::capture_stack(caller, way.stack, way.cache, frames, max_depth_frames);
        if (!frames_match(oracle, frames, result.depth, result)) return result;
    }
    result.way = "";
    result.same = oracle.reached;
    return result;
}

} // namespace

[[gnu::noinline]] Comparison compare_here() noexcept
{
    const Caller caller = heapmark::capture::caller_of(HEAPMARK_FRAME());
    Comparison result = compare(caller);
    asm volatile("" : : : "memory"); // no tail call: the frame must stay
    return result;
}

[[gnu::noinline]] unsigned capture_here(std::uint64_t* frames, unsigned max_frames) noexcept
{
    const Caller caller = heapmark::capture::caller_of(HEAPMARK_FRAME());
    const unsigned count = heapmark::capture::capture_stack(caller, thread.stack, static_cast<RuleCache*>(thread.cache),
                                                            frames, max_frames);
    asm volatile("" : : : "memory");
    return count;
}

PreparedThread::PreparedThread() noexcept
{
    if (thread.cache == nullptr) thread.cache = std::calloc(1, heapmark::capture::rule_cache_bytes);
    thread.stack = heapmark::platform::stack_of_this_thread();
}

PreparedThread::~PreparedThread()
{
    std::free(thread.cache);
    thread.cache = nullptr;
}

RuleCache* thread_cache() noexcept { return static_cast<RuleCache*>(thread.cache); }
StackBounds thread_stack() noexcept { return thread.stack; }

} // namespace capture_test
