// SPDX-License-Identifier: BSL-1.0
// A use of a library that people make, and the same with one release forgotten. Each is two tests.
#pragma once

namespace real {

/// Fails the test that runs.
void expect(bool right, const char* what);

/// The same pointer, in a way that no compiler sees through: clang++ removes the allocation of a block that is only
/// compared and freed, and takes it not to have failed.
void* seen(void* block);

/// Returns true.
bool add(const char* library, const char* name, void (*run)(bool leaks));

} // namespace real

#define SCENARIO(library, name)                                                                                        \
    static void library##_##name(bool leaks);                                                                          \
    static const bool library##_##name##_added = real::add(#library, #name, &library##_##name);                        \
    static void library##_##name([[maybe_unused]] bool leaks)

#define EXPECT(condition) real::expect(static_cast<bool>(condition), #condition)
