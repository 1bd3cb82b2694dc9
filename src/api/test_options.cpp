// SPDX-License-Identifier: BSL-1.0
// What test adapters need of the inside: their options, and the guard.
#include "platform/options.hpp"
#include "platform/thread_state.hpp"

#include <heapmark/adapter.hpp>

#include <cstdlib>

namespace heapmark {

framework_memory::framework_memory() noexcept { ++platform::thread_state.guard_depth; }
framework_memory::~framework_memory() { --platform::thread_state.guard_depth; }

TestOptions::TestOptions()
{
    const platform::Guard guard;
    const platform::Options& given = platform::options();
    policy = static_cast<Policy>(given.policy);
    suppressions = given.suppressions;
    baseline = given.baseline;
    update_baseline = given.update_baseline != 0;
    sarif = given.sarif;
    junit = given.junit;
    github = given.github != 0;
    repeats = given.repeats;
    if (given.max_groups != platform::Options{}.max_groups) max_groups = given.max_groups;
    source_root = given.source_root;
}

} // namespace heapmark
