// SPDX-License-Identifier: BSL-1.0
// What heapmark::catch2 adds to a program: the listener, registered with Catch2. Compiled in the user's build.
#include <heapmark/catch2.hpp>
