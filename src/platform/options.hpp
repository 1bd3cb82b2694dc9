// SPDX-License-Identifier: BSL-1.0
// HEAPMARK_OPTIONS="key=value:key=value": read once, before main, without allocating.
#pragma once

#include "platform/raw_write.hpp"

#include <cstdint>
#include <string_view>

namespace heapmark::platform {

enum class ColorChoice : std::uint64_t { automatic, never, always };

/// One member a key of options.inc.
struct Options {
    using Flag = std::uint64_t;
    using Number = std::uint64_t;
    using Choice = std::uint64_t;
    using Text = std::string_view;
#define HEAPMARK_OPTION(type, key, fallback, accepted, help) type key = fallback;
#include "platform/options.inc"
#undef HEAPMARK_OPTION
};

/// Reads `text` into `options`. Texts in it are views of `text`.
/// Returns true, or false with the reason, naming the key, in `error`. Allocates nothing.
bool parse_options(std::string_view text, Options& options, bool& help, Line& error) noexcept;

extern constinit Options process_options; ///< written by load_options() alone

/// The environment's options: the defaults until load_options() has run.
inline const Options& options() noexcept { return process_options; }

/// Set by the first session of a test adapter: somebody follows the options for tests.
extern constinit bool tests_are_judged;

/// Reads the environment. A mistake ends the process with status 2 and a line that names the key; help=1 prints all
/// keys to standard error and goes on. Only the first call does anything.
void load_options() noexcept;

} // namespace heapmark::platform
