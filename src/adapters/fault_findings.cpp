// SPDX-License-Identifier: BSL-1.0
#include "adapters/fault_findings.hpp"

#include "adapters/finding_text.hpp"

namespace heapmark::adapters {
namespace {

std::string what_happened(const Fault& fault)
{
    switch (fault.kind) {
    case Fault::Kind::double_free: return " freed a block twice";
    case Fault::Kind::unknown_free: return " freed an address that is no block";
    case Fault::Kind::mismatched_release: break;
    }
    switch (fault.mismatch) {
    case Fault::Mismatch::size: return " released a block with another size than it has";
    case Fault::Mismatch::alignment: return " released a block with another alignment than it has";
    case Fault::Mismatch::none:
    case Fault::Mismatch::function: break;
    }
    return std::string(" released a block of ") + to_string(fault.birth.api) + " with " + fault.released_by;
}

} // namespace

Finding finding_of(const std::string& test, const Fault& fault, const std::string& source_root)
{
    const suppress::NamedStack& names = suppress::names_of(fault.stack);
    Finding finding = finding_at(names);
    finding.rule = "faults";
    finding.title = "heapmark: " + test + what_happened(fault);
    finding.text = suppress::stack_lines(names, source_root);
    if (fault.birth.address != nullptr)
        finding.text += in_words(1, fault.birth.size) + ", asked for with " + to_string(fault.birth.api) + " at\n" +
                        suppress::stack_lines(suppress::names_of(fault.birth.stack), source_root);
    return finding;
}

} // namespace heapmark::adapters
