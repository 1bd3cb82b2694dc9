// SPDX-License-Identifier: BSL-1.0
// Situation: an exception is stored with std::current_exception to be rethrown later.
// The runtime's block has a header; the exception_ptr points behind it, so the only
// pointer to the block is an interior one.  Tools have called it possibly lost.
//
// Right answer: while stored: 2 survivors that name run_job (exception block and its
// message text), reachable, none lost.  After the pointer is reset: none.  An
// exception that is caught and dropped at once: none.
#include "case.h"
#include <exception>
#include <stdexcept>
#include <string>

std::exception_ptr stored;

CASE_NOINLINE void run_job(bool keep)
{
    try {
        throw std::runtime_error("a message that is long enough to need its own memory");
    } catch (...) {
        if (keep) stored = std::current_exception();
    }
}

int main()
{
    CASE_MARK();
    run_job(false);
    CASE_SCRUB_STACK();
    CASE_EXPECT_FROM("run_job", 0, 0);

    CASE_MARK();
    run_job(true);
    CASE_SCRUB_STACK();
    CASE_EXPECT_SURVIVORS(2, CASE_ANY);
    CASE_EXPECT_FROM("run_job", 2, CASE_ANY);
    CASE_EXPECT_REACHABLE(2, CASE_ANY);
    CASE_EXPECT_LOST(0, 0);
    stored = nullptr;
    CASE_EXPECT_SURVIVORS(0, 0);
    return 0;
}
