// SPDX-License-Identifier: BSL-1.0
// What libraries and test frameworks allocate once and keep, each with its reason. The C library has a rule of its own
// (c_library.hpp). Names are those that libraries export, since few systems have their debug information.
#include <heapmark/adapter.hpp>

namespace heapmark {

namespace {

constexpr std::string_view known_one_time_allocations = R"(
# results, messages and properties are kept until the run ends
site:testing::*
site:doctest::*
function:doctest::detail::tlss*
site:Catch::*
site:boost::unit_test::*
site:boost::test_tools::*
function:boost::unit_test::framework::add_context

# static TLS of a thread: its stack, with this table, is kept for the next thread when it ends
function:_dl_allocate_tls
function:__tls_get_addr

# the table of destructors of thread-local objects
function:__cxa_thread_atexit
)";

} // namespace

void Suppressions::add_built_in()
{
    const framework_memory ours;
    const std::size_t before = list_.size();
    add(known_one_time_allocations, "built in");
    for (std::size_t i = before; i < list_.size(); ++i) list_[i].built_in = true;
}

} // namespace heapmark
