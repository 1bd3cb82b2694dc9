// SPDX-License-Identifier: BSL-1.0
// dlclose: what was remembered about addresses may be void afterwards.
#include "interpose/anchors.hpp"

#include "platform/modules.hpp"
#include "platform/raw_write.hpp"

#include <atomic>
#include <dlfcn.h>

namespace heapmark::interpose {

const char unload_anchor = 0;

} // namespace heapmark::interpose

extern "C" HEAPMARK_EXPORT int dlclose(void* handle)
{
    using namespace heapmark;
    using Close = int(void*);
    static constinit std::atomic<Close*> real{nullptr};
    Close* close = real.load(std::memory_order_acquire);
    if (close == nullptr) {
        close = reinterpret_cast<Close*>(dlsym(RTLD_NEXT, "dlclose"));
        if (close == nullptr) {
            platform::Line line;
            platform::die(line << "no dlclose found below heapmark's own");
        }
        real.store(close, std::memory_order_release);
    }
    const int result = close(handle);
    platform::note_unload();
    return result;
}
