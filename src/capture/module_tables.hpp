// SPDX-License-Identifier: BSL-1.0
// From a module to its unwind tables.
#pragma once

#include "capture/eh_frame.hpp"
#include "platform/modules.hpp"

namespace heapmark::capture {

inline UnwindTables tables_of(const platform::Module& module) noexcept
{
    return {module.eh_frame_header, module.tables_begin, module.tables_end};
}

} // namespace heapmark::capture
