// SPDX-License-Identifier: BSL-1.0
// The public questions about snapshots and frames: each takes the guard and asks analyse with this process's names.
#include "analyse/c_library.hpp"
#include "analyse/group.hpp"
#include "analyse/signature.hpp"
#include "platform/thread_state.hpp"
#include "record/texts.hpp"
#include "symbolise/symbolise.hpp"

#include <heapmark/report.hpp>

namespace heapmark {

namespace {

/// Whether pred(names of the frame) holds for a frame of the stack.
template <class Predicate>
bool any_frame(const Stack& stack, Predicate pred)
{
    const platform::Guard guard;
    for (const Frame frame : stack)
        if (pred(symbolise::process_names().of_frame(frame))) return true;
    return false;
}

/// The name as long as the process lives: a predicate may outlive the text that it was made from.
const char* kept(const char* name) noexcept
{
    const char* given = name == nullptr ? "" : name;
    const record::TextId id = record::intern_text(given);
    return id == record::no_text ? given : record::text(id).data();
}

} // namespace

const char* to_string(Api api) noexcept
{
    switch (api) {
    case Api::unknown: break;
    case Api::malloc: return "malloc";
    case Api::calloc: return "calloc";
    case Api::realloc: return "realloc";
    case Api::reallocarray: return "reallocarray";
    case Api::memalign: return "memalign";
    case Api::posix_memalign: return "posix_memalign";
    case Api::aligned_alloc: return "aligned_alloc";
    case Api::valloc: return "valloc";
    case Api::pvalloc: return "pvalloc";
    case Api::operator_new: return "new";
    case Api::operator_new_array: return "new[]";
    case Api::operator_new_aligned: return "aligned new";
    case Api::operator_new_array_aligned: return "aligned new[]";
    case Api::track: return "track";
    case Api::retain: return "retain";
    case Api::mmap: return "mmap";
    case Api::mremap: return "mremap";
    case Api::shmat: return "shmat";
    }
    return "unknown allocation";
}

std::vector<Group> Snapshot::group_by(GroupKey key) const
{
    const platform::Guard guard;
    return analyse::group(*this, key, symbolise::process_names());
}

Difference Snapshot::diff(const Snapshot& older, const Snapshot& newer) { return heapmark::diff(older, newer); }

Difference diff(const Snapshot& older, const Snapshot& newer)
{
    const platform::Guard guard;
    return analyse::difference(older, newer);
}

std::vector<Call> resolve(Frame frame)
{
    const platform::Guard guard;
    std::vector<Call> calls;
    for (const analyse::CallName& name : symbolise::process_names().of_frame(frame).calls) {
        Call& call = calls.emplace_back();
        call.function = name.function;
        call.file = name.file;
        call.line = name.line;
        call.inlined = name.inlined;
        call.short_function = name.short_function;
        call.plumbing = name.plumbing;
    }
    return calls;
}

std::string_view linkage_name(Frame frame)
{
    const platform::Guard guard;
    return symbolise::linkage_name(frame);
}

std::string_view module_path(Frame frame) noexcept { return symbolise::module_path(frame); }

bool is_kept_by_c_library(const Block& block)
{
    const platform::Guard guard;
    return analyse::is_kept_by_c_library(block.stack, symbolise::process_names());
}

Frame call_site(const Stack& stack)
{
    const platform::Guard guard;
    const analyse::CallSite site = analyse::call_site(stack, symbolise::process_names());
    return site.frame == nullptr ? Frame{} : stack[site.frame_index];
}

in_function::in_function(const char* name) : name_(kept(name)) {}
in_module::in_module(const char* name) : name_(kept(name)) {}
in_file::in_file(const char* name) : name_(kept(name)) {}

bool in_function::operator()(const Block& block) const
{
    return any_frame(block.stack, [&](const analyse::FrameNames& frame) {
        for (const analyse::CallName& call : frame.calls)
            if (analyse::means_function(name_, call.function) || analyse::means_function(name_, call.short_function))
                return true;
        return false;
    });
}

bool in_module::operator()(const Block& block) const
{
    for (const Frame frame : block.stack)
        if (analyse::means_module(name_, symbolise::module_path(frame))) return true;
    return false;
}

bool in_file::operator()(const Block& block) const
{
    return any_frame(block.stack, [&](const analyse::FrameNames& frame) {
        for (const analyse::CallName& call : frame.calls)
            if (analyse::means_file(name_, call.file)) return true;
        return false;
    });
}

} // namespace heapmark
