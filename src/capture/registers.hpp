// SPDX-License-Identifier: BSL-1.0
// Picks the facts of the processor this is built for.
#pragma once

#if defined(__x86_64__)
#include "capture/registers_x86_64.hpp"
#else
#error "heapmark: no unwinding for this processor yet; see capture/registers_x86_64.hpp for what it needs"
#endif
