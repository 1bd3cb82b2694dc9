// SPDX-License-Identifier: BSL-1.0
#include "api/root_names.hpp"

#include "record/texts.hpp"
#include "symbolise/symbolise.hpp"

namespace heapmark {

Root root_at(const platform::Root& range, std::uint64_t offset)
{
    Root root;
    root.kind = static_cast<Root::Kind>(range.kind);
    root.thread = ThreadId{range.thread};
    if (range.kind == platform::RootKind::registers) return root;
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
    }
    return root;
}

} // namespace heapmark
