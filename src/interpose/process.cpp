// SPDX-License-Identifier: BSL-1.0
// The start of the process.
#include "interpose/anchors.hpp"
#include "interpose/hooks.hpp"
#include "interpose/underlying.hpp"

#include "platform/options.hpp"
#include "record/generations.hpp"
#include "record/mappings.hpp"
#include "record/recorder.hpp"
#include "trace/writer.hpp"

namespace heapmark::interpose {

const char process_anchor = 0;

namespace {

// Before the program's own constructors (priorities up to 100 are the implementation's), so that a mistake in
// HEAPMARK_OPTIONS is told before anything runs.
[[gnu::constructor(101)]] void process_starts()
{
    const platform::Guard guard;
    platform::ThreadState& thread = platform::thread_state;
    attach_thread(thread, 0);
    platform::load_options();
    trace::follow_options();
    if (platform::options().mappings != 0 && record::start_mappings()) {
        record::keep_mappings_over_fork();
        underlying.free(nullptr); // so that it is known, for it may map memory of its own
    }
    if (record::start_accounting(static_cast<record::AccountKey>(platform::options().accounting)))
        thread.context_record = nullptr; // of before; the next one is accounted
    if (thread.known_stacks != nullptr) thread.known_stacks->begin(static_cast<unsigned>(platform::options().depth));
    record::begin_first_generation();
    record::keep_released = keep_released;
}

} // namespace

} // namespace heapmark::interpose
