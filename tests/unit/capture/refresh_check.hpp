// SPDX-License-Identifier: BSL-1.0
// Holds the stack cache and the known stacks against capture_stack and against the compiler's unwinder.
#pragma once

#include "capture/known_stacks.hpp"
#include "wander.hpp"

#include <doctest/doctest.h>

#include <cstdint>

namespace capture_test {

/// What the looks of one thread have found.
struct Findings {
    std::uint64_t looks = 0;
    std::uint64_t given_up = 0;  ///< refresh wanted the general walk
    std::uint64_t shortened = 0; ///< stacks that the depth limit cut
    std::uint64_t unwound = 0;   ///< compared with the compiler's unwinder too
    std::uint64_t known = 0;     ///< found among the known stacks
    std::uint64_t wrong = 0;
    const char* first_wrong = "";
};

/// The caches of one thread and what it found. Caches begin as pages do: zero.
struct RefreshCheck {
    heapmark::capture::KnownStacks* known; ///< keeps hashes, under the depth limit as key
    heapmark::capture::StackCache* stacks;
    heapmark::capture::RuleCache* rules;
    heapmark::capture::RuleCache* oracle_rules; ///< of the other walk: nothing in common with the one under test
    heapmark::platform::StackBounds stack;
    bool interrupted_any_time = false; ///< by handlers that refresh too: levels are theirs as well
    Findings found;

    RefreshCheck();
    ~RefreshCheck();
    RefreshCheck(const RefreshCheck&) = delete;
    RefreshCheck& operator=(const RefreshCheck&) = delete;
};

/// Looks at the stack of its caller; a Wanderer's `look`. `other` is the RefreshCheck.
void look_by_refresh(Wanderer& wanderer);

/// As that, with a depth limit of one's own.
void check_refresh_here(RefreshCheck& check, unsigned max_frames, std::uint64_t turn);

} // namespace capture_test

#define CHECK_FOUND_RIGHT(findings, least_looks)                                                                       \
    do {                                                                                                               \
        const ::capture_test::Findings& found_ = (findings);                                                           \
        INFO("first difference: ", ::doctest::String(found_.first_wrong), "; looks ", found_.looks, ", given up ",     \
             found_.given_up, ", known ", found_.known, ", unwound ", found_.unwound);                                 \
        CHECK(found_.wrong == 0);                                                                                      \
        CHECK(found_.looks >= static_cast<std::uint64_t>(least_looks));                                                \
    } while (false)
