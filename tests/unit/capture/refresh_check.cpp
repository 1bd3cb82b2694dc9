// SPDX-License-Identifier: BSL-1.0
// The comparison of refresh() with its oracles.
#include "refresh_check.hpp"

#include "unwound.hpp"

#include "base/bits.hpp"
#include "base/frames_hash.hpp"
#include "capture/registers.hpp"
#include "platform/stack_bounds.hpp"

#include <algorithm>
#include <cstdlib>

namespace capture_test {
namespace {

using namespace heapmark;
using capture::Caller;
using capture::max_depth_frames;

/// How often the slow oracles are asked.
constexpr std::uint64_t without_cache_every = 256;
constexpr std::uint64_t unwound_every = 512;

/// What is kept for a stack: its hash, as far as it fits, and never 0.
std::uint32_t note_of(std::uint64_t hash) { return static_cast<std::uint32_t>(base::mix64(hash)) | 1; }

void fail(Findings& found, const char* how)
{
    if (found.wrong++ == 0) found.first_wrong = how;
}

[[gnu::noinline]] void check(RefreshCheck& check, const Caller& caller, unsigned max_frames, std::uint64_t turn)
{
    Findings& found = check.found;
    ++found.looks;
    const std::uint32_t known = check.known->find(caller, max_frames);
    const capture::Refreshed refreshed = capture::refresh(*check.stacks, *check.rules, caller, check.stack, max_frames);
    const unsigned count = refreshed.count;
    const std::uint64_t hash = refreshed.hash;
    std::uint64_t levels[max_depth_frames];
    const std::uint32_t top = check.stacks->count;
    for (unsigned i = 0; i < count && i < top; ++i) levels[i] = check.stacks->levels[top - i].frame;

    std::uint64_t frames[max_depth_frames];
    const bool cached = turn % without_cache_every != 0;
    const unsigned expected =
        capture::capture_stack(caller, check.stack, cached ? check.oracle_rules : nullptr, frames, max_frames);
    if (turn % unwound_every == 0) {
        Unwound<max_depth_frames> unwound{caller.pc, max_frames};
        unwound.take();
        ++found.unwound;
        if (!unwound.reached || unwound.count != expected) fail(found, "capture_stack's depth");
        for (unsigned i = 0; i < std::min(expected, unwound.count); ++i)
            if ((frames[i] & 0xffff'ffff'ffffU) != unwound.pcs[i]) fail(found, "capture_stack's frames");
    }
    if (expected == max_frames) ++found.shortened;
    if (count == 0) {
        ++found.given_up;
        return;
    }
    if (count != expected) fail(found, "depth");
    if (hash != base::FramesHash::of(std::span(frames, expected))) fail(found, "hash");
    const std::uint32_t note = note_of(hash);
    if (known != 0) {
        ++found.known;
        if (known != note) fail(found, "known stack");
    } else
        check.known->keep(*check.stacks, refreshed, caller, max_frames, note);
    if (!check.interrupted_any_time && (top < count || !std::equal(levels, levels + count, frames)))
        fail(found, "frames");
}

template <class T>
T* zeroed()
{
    void* memory = std::aligned_alloc(64, (sizeof(T) + 63) / 64 * 64);
    REQUIRE(memory != nullptr);
    auto* words = static_cast<volatile unsigned char*>(memory);
    for (std::size_t i = 0; i < sizeof(T); ++i) words[i] = 0;
    return static_cast<T*>(memory);
}

} // namespace

RefreshCheck::RefreshCheck()
    : known(zeroed<capture::KnownStacks>()), stacks(zeroed<capture::StackCache>()), rules(zeroed<capture::RuleCache>()),
      oracle_rules(zeroed<capture::RuleCache>()), stack(platform::stack_of_this_thread())
{
    known->begin(max_depth_frames);
}

RefreshCheck::~RefreshCheck()
{
    std::free(known);
    std::free(stacks);
    std::free(rules);
    std::free(oracle_rules);
}

[[gnu::noinline]] void look_by_refresh(Wanderer& wanderer)
{
    const Caller caller = capture::caller_of(HEAPMARK_FRAME());
    auto& found = *static_cast<RefreshCheck*>(wanderer.other);
    // Mostly one limit, as in a process; at times another.
    const unsigned max_frames =
        wanderer.below(16) == 0 ? 1 + static_cast<unsigned>(wanderer.below(max_depth_frames)) : max_depth_frames;
    check(found, caller, max_frames, found.found.looks);
    asm volatile("" : : : "memory"); // no tail call: the frame must stay
}

[[gnu::noinline]] void check_refresh_here(RefreshCheck& found, unsigned max_frames, std::uint64_t turn)
{
    const Caller caller = capture::caller_of(HEAPMARK_FRAME());
    check(found, caller, max_frames, turn);
    asm volatile("" : : : "memory");
}

} // namespace capture_test
