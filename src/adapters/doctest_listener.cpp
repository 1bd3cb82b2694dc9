// SPDX-License-Identifier: BSL-1.0
// What heapmark::doctest adds to a program: the listener, registered with doctest. Compiled in the user's build.
#include <heapmark/doctest.hpp>
