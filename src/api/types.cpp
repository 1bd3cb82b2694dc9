// SPDX-License-Identifier: BSL-1.0
// HEAPMARK_TYPE.
#include "analyse/annotated_types.hpp"
#include "platform/thread_state.hpp"
#include "snapshot/heap_blocks.hpp"

#include <heapmark/heapmark.hpp>

namespace heapmark {

bool set_type(const void* block, const char* type)
{
    const platform::Guard guard;
    const auto live_at = [](const void* address) {
        return snapshot::live_block_at(reinterpret_cast<std::uintptr_t>(address));
    };
    const Block born = live_at(block);
    if (born.address == nullptr) return false;
    analyse::drop_dead_types(live_at);
    analyse::annotate_type(born, type == nullptr ? "" : type);
    return true;
}

} // namespace heapmark
