// SPDX-License-Identifier: BSL-1.0
// A library for the registry to see come and go.
extern "C" __attribute__((visibility("default"))) int platform_plugin_function() { return 42; }
