// SPDX-License-Identifier: BSL-1.0
// dlclose: what was remembered about addresses may be void afterwards.
#include "interpose/anchors.hpp"
#include "interpose/real_function.hpp"

#include "platform/modules.hpp"

namespace heapmark::interpose {

const char unload_anchor = 0;

} // namespace heapmark::interpose

extern "C" HEAPMARK_EXPORT int dlclose(void* handle)
{
    using namespace heapmark;
    static constinit interpose::RealFunction<int(void*)> real("dlclose");
    const int result = real.get()(handle);
    platform::note_unload();
    return result;
}
