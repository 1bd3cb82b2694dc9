// SPDX-License-Identifier: BSL-1.0
// The storage of the thread-local structure.
#include "platform/thread_state.hpp"

namespace heapmark::platform {

constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec"))) = {};

} // namespace heapmark::platform
