// SPDX-License-Identifier: BSL-1.0
// A heapmark stack as a Boost.Stacktrace one, for programs that print or log those. Not included by heapmark.hpp.
#ifndef HEAPMARK_BOOST_STACKTRACE_HPP
#define HEAPMARK_BOOST_STACKTRACE_HPP

#include <heapmark/heapmark.hpp>

#include <boost/stacktrace/stacktrace.hpp>

#include <vector>

namespace heapmark {

/// The same return addresses, innermost first.
/// Errors: Boost names addresses by what is loaded now, one name an address: after `dlclose`, or where functions were
/// inlined, heapmark::resolve knows more.
/// Heap path: allocates, and what it returns is the caller's memory, a survivor like any other. Throws std::bad_alloc.
[[nodiscard]] inline boost::stacktrace::stacktrace to_boost(const Stack& stack)
{
    std::vector<const void*> addresses;
    addresses.reserve(stack.size());
    for (const Frame frame : stack) addresses.push_back(reinterpret_cast<const void*>(frame.address()));
    return boost::stacktrace::stacktrace::from_dump(addresses.data(), addresses.size() * sizeof(void*));
}

} // namespace heapmark

#endif
