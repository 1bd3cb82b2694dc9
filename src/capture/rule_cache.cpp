// SPDX-License-Identifier: BSL-1.0
// Filling the rule cache.
#include "capture/rule_cache.hpp"

#include "capture/module_tables.hpp"

namespace heapmark::capture {

CachedRule compile_frame(std::uintptr_t pc, RuleCache* cache, std::uint32_t& fills) noexcept
{
    if (!is_frame_address(pc)) return {};
    const platform::Module* module = platform::module_at(pc - 1);
    if (module == nullptr) return {pc, {Rule::end}};
    const CachedRule result{frame_bits(pc, module), compile_rule(tables_of(*module), pc - 1)};
    if (cache != nullptr) {
        cache->fill(pc, result);
        ++fills;
    }
    return result;
}

} // namespace heapmark::capture
