// SPDX-License-Identifier: BSL-1.0
#include "api/root_names.hpp"

#include "record/texts.hpp"
#include "symbolise/symbolise.hpp"

namespace heapmark {

namespace {

void name_function(Root& root, std::uint64_t frame)
{
    if (frame == 0) return;
    const analyse::FrameNames& names = symbolise::process_names().of_frame(Frame{frame});
    root.name = names.calls.back().function; // the calls inlined into it share its frame
    root.module = names.module;
}

void name_thread_variable(Root& root, const platform::StoragePlace& storage, std::uintptr_t pointer)
{
    if (storage.area == 0 || pointer < storage.area) return;
    const symbolise::VariableName variable = symbolise::thread_variable_at(storage.number, pointer - storage.area);
    root.name = variable.name;
    root.module = variable.module;
    root.offset = variable.offset;
}

void number_key(Root& root, const platform::StoragePlace& storage, std::uintptr_t pointer)
{
    const std::uintptr_t place = pointer - storage.area;
    if (storage.area == 0 || place >= platform::keys_in_block * platform::key_value_bytes) return;
    if (place % platform::key_value_bytes != platform::key_value_bytes - sizeof(void*)) return;
    root.key = static_cast<int>(storage.number + place / platform::key_value_bytes);
}

} // namespace

Root root_at(const platform::Root& range, std::uint64_t offset, const RootDetail* detail, std::uintptr_t next)
{
    Root root;
    root.kind = static_cast<Root::Kind>(range.kind);
    root.thread = ThreadId{range.thread};
    if (range.kind == platform::RootKind::registers) {
        if (detail != nullptr) name_function(root, detail->frame);
        return root;
    }
    const std::uintptr_t address = (range.begin & ~(sizeof(std::uintptr_t) - 1)) + offset;
    root.address = reinterpret_cast<const void*>(address); // NOLINT(performance-no-int-to-ptr)
    if (range.kind == platform::RootKind::data) {
        const symbolise::VariableName variable = symbolise::variable_at(root.address);
        root.name = variable.name;
        root.module = variable.module;
        root.offset = variable.offset;
    } else if (range.kind == platform::RootKind::annotated) {
        root.name = record::text(range.name);
        root.offset = address - range.begin;
    } else if (detail != nullptr) {
        const std::uintptr_t pointer = detail->storage.points_there ? next : address;
        if (range.kind == platform::RootKind::stack) name_function(root, detail->frame);
        if (range.kind == platform::RootKind::thread_storage) name_thread_variable(root, detail->storage, pointer);
        if (range.kind == platform::RootKind::thread_key) number_key(root, detail->storage, pointer);
    }
    return root;
}

} // namespace heapmark
