// SPDX-License-Identifier: BSL-1.0
// Included before Google Test's tests that have a main of their own, which then calls before_tests() first: what a user
// would write there.
#pragma once

#include <gtest/gtest.h>

/// Installs heapmark, once, in the program that is linked with it, and does nothing in the other.
void before_tests();

#define RUN_ALL_TESTS() (before_tests(), ::RUN_ALL_TESTS())
