// SPDX-License-Identifier: BSL-1.0
// What heapmark::boost_test adds to a program: the listener, registered with Boost.Test. Compiled in the user's build.
#include <heapmark/boost_test.hpp>
