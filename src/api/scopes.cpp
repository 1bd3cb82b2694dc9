// SPDX-License-Identifier: BSL-1.0
// What a thread says about the blocks it makes: ignored, tagged; and whose blocks they are.
#include "platform/thread_state.hpp"
#include "record/generations.hpp"
#include "record/recorder.hpp"
#include "record/texts.hpp"
#include "record/threads.hpp"

#include <heapmark/heapmark.hpp>

#include <cstdlib>

namespace heapmark {

ignore::ignore() noexcept { ++platform::thread_state.ignore_depth; }
ignore::~ignore() { --platform::thread_state.ignore_depth; }

bool forget(const void* block) noexcept { return record::make_ignored(block); }

tag_scope::tag_scope(const char* tag) noexcept : outer_(platform::thread_state.tag)
{
    if (const record::TextId id = record::intern_text(tag == nullptr ? "" : tag); id != record::no_text)
        platform::thread_state.tag = id;
}
tag_scope::~tag_scope() { platform::thread_state.tag = outer_; }

ThreadId this_thread() noexcept
{
    if (platform::thread_state.thread == 0) {
        // Threads are numbered when they first allocate.
        const platform::Guard guard;
        void* volatile block = std::malloc(1); // volatile: the pair would be removed
        std::free(block);
    }
    return ThreadId{platform::thread_state.thread};
}

by_this_thread_and_its_children::by_this_thread_and_its_children(Generation since) noexcept
    : root_(this_thread()), since_(since)
{}

bool by_this_thread_and_its_children::operator()(const Block& block) const noexcept
{
    return record::descends_from(static_cast<std::uint32_t>(block.thread), static_cast<std::uint32_t>(root_),
                                 record::number_of(since_));
}

} // namespace heapmark
