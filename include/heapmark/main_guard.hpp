// SPDX-License-Identifier: BSL-1.0
// For programs of tests without a framework: what is left between the guard and its verdict fails the program.
//
//     int main()
//     {
//         heapmark::main_guard guard{"parser tests"};
//         const int status = run_tests();
//         return guard.status(status);
//     }
#ifndef HEAPMARK_MAIN_GUARD_HPP
#define HEAPMARK_MAIN_GUARD_HPP

#include <heapmark/adapter.hpp>

namespace heapmark {

/// Judges what this thread, and the threads that it starts, leave from here on.
/// Errors: as TestSession.
class main_guard {
public:
    explicit main_guard(const char* name) { session_.enter(name); } ///< with what HEAPMARK_OPTIONS says
    main_guard(const char* name, const TestOptions& options) : session_(options) { session_.enter(name); }

    /// Prints what was left to standard error. Returns `status`; or 1 where that is 0 and something was left, or nothing
    /// could be checked. Call it once, when all that is to be judged is out of scope.
    [[nodiscard]] int status(int status)
    {
        wipe_dead_stack(); // before there is a frame in which words of ended functions could stay
        return judged(status);
    }

private:
    [[gnu::noinline]] int judged(int status)
    {
        const framework_memory ours;
        const Verdict verdict = session_.leave();
        for (const Finding& finding : verdict.failures)
            std::fprintf(stderr, "%s:%u: %s\n%s\n", finding.file.empty() ? "unknown file" : finding.file.c_str(),
                         finding.line, finding.title.c_str(), finding.text.c_str());
        std::fputs(verdict.notes.c_str(), stderr);
        const char* const problem = TestSession::problem();
        if (*problem != '\0') std::fprintf(stderr, "heapmark: nothing could be checked: %s\n", problem);
        const Closing closing = session_.finish(true);
        std::fputs(closing.text.c_str(), stderr);
        const bool failed = verdict.failed() || *problem != '\0' || closing.failed;
        return status == 0 && failed ? 1 : status;
    }

    TestSession session_;
};

} // namespace heapmark

#endif
