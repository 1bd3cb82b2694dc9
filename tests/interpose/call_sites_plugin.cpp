// SPDX-License-Identifier: BSL-1.0
#include <heapmark/call_site.hpp>

extern "C" __attribute__((visibility("default"))) void use_plugin() { std::free(HEAPMARK_MALLOC(7)); }
