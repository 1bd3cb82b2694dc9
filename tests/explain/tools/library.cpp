// SPDX-License-Identifier: BSL-1.0
// A library with a variable, to be loaded and unloaded.
extern "C" void* library_place;
void* library_place;
