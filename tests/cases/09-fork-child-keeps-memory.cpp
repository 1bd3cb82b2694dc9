// SPDX-License-Identifier: BSL-1.0
// Situation: a test forks (as death tests do).  The child allocates, keeps it and
// leaves by _exit or by exit.  Parents have been blamed for the child's blocks, and
// a child's exit-time report has overwritten or doubled the parent's.
//
// Right answer: parent: no survivors, one report.  In the child, blocks that were
// live at fork stay known (they can be released there), and what the child makes
// after the fork counts in the child alone: 1 survivor, 1000 bytes.
#include "case.h"
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

CASE_NOINLINE char* grab(std::size_t n)
{
    char* p = static_cast<char*>(std::malloc(n));
    CASE_KEEP(p);
    return p;
}

CASE_NOINLINE void child_work(char* inherited)
{
    std::free(inherited);
    CASE_MARK();
    char* kept = grab(1000);
    CASE_KEEP(kept);
    CASE_EXPECT_SURVIVORS(1, 1000);
    CASE_EXPECT_FROM("child_work", 1, 1000);
}

int main()
{
    CASE_MARK();
    for (int polite = 0; polite <= 1; ++polite) {
        char* before = grab(77);
        pid_t pid = fork();
        if (pid < 0) return 1;
        if (pid == 0) {
            child_work(before);
            if (polite) std::exit(0);
            _exit(0);
        }
        int status = 0;
        if (waitpid(pid, &status, 0) != pid) return 1;
        std::free(before);
    }
    CASE_EXPECT_SURVIVORS(0, 0);
    return 0;
}
