// SPDX-License-Identifier: BSL-1.0
// Texts onto streams, put together first and written at once, so that those of several threads do not mix.
#pragma once

#include "platform/thread_state.hpp"

#include <cstdio>
#include <ostream>
#include <string>

namespace heapmark {

/// Under the guard to the end: a buffer that the stream makes for this text is heapmark's doing, not the program's.
template <class Text>
void write_to(std::ostream& out, Text text)
{
    const platform::Guard guard;
    const std::string whole = text();
    out.write(whole.data(), static_cast<std::streamsize>(whole.size()));
}

/// Returns 0 or an errno value; errno itself is kept. The caller holds a Guard, for the same reason.
int write_to(std::FILE* out, const std::string& text);

} // namespace heapmark
