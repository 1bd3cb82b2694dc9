// SPDX-License-Identifier: BSL-1.0
// doctest: each test case, with all its subcases, is judged by what it leaves on the heap. 2.4 and newer.
// Linking heapmark::doctest is enough; without CMake, include this in one source file.
#ifndef HEAPMARK_DOCTEST_HPP
#define HEAPMARK_DOCTEST_HPP

#include <heapmark/adapter.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <utility>

namespace heapmark::doctest_adapter {

/// doctest counts failures before it tells listeners that a test case has ended, and listeners are told before the
/// reporter that prints. So the numbers, which are handed out by reference, are corrected here: the objects behind them
/// are not constant.
class Listener : public ::doctest::IReporter {
public:
    explicit Listener(const ::doctest::ContextOptions& /*options*/) {}

    void test_run_start() override
    {
        const framework_memory ours;
        try {
            session_ = std::make_unique<TestSession>();
        } catch (const std::exception& mistake) {
            std::fprintf(stderr, "heapmark: %s\n", mistake.what());
            std::exit(2);
        }
    }

    void test_case_start(const ::doctest::TestCaseData& test) override
    {
        enter(test, __builtin_frame_address(0));
        // doctest goes on to save the handlers of signals, with whatever lies on the stack in what they do not use.
        wipe_dead_stack();
    }
    void test_case_reenter(const ::doctest::TestCaseData& /*test*/) override { wipe_dead_stack(); }

    [[gnu::noinline]] void enter(const ::doctest::TestCaseData& test, const void* runner)
    {
        const framework_memory ours;
        test_ = &test;
        session_->enter(test.m_name, runner);
    }

    void test_case_end(const ::doctest::CurrentTestCaseStats& constant_stats) override
    {
        session_->wipe_before_leave();
        judge(constant_stats);
    }

    [[gnu::noinline]] void judge(const ::doctest::CurrentTestCaseStats& constant_stats)
    {
        const framework_memory ours;
        const Verdict verdict = session_->leave(test_->m_file.c_str(), test_->m_line);
        std::fputs(verdict.notes.c_str(), stdout);
        for (const Finding& finding : verdict.failures) fail(finding.file.c_str(), finding.line, finding);
        if (std::exchange(untried_, false) && *TestSession::problem() != '\0') {
            Finding finding;
            finding.title = "heapmark: no allocation is recorded, so no test is checked";
            finding.text = TestSession::problem();
            fail(test_->m_file.c_str(), test_->m_line, finding);
        } else if (!verdict.failed()) {
            return;
        }

        auto& stats = const_cast<::doctest::CurrentTestCaseStats&>(constant_stats);
        const int failures = static_cast<int>(verdict.failures.empty() ? 1 : verdict.failures.size());
        stats.numAssertsCurrentTest += failures;
        stats.numAssertsFailedCurrentTest += failures;
        stats.failure_flags |= ::doctest::TestCaseFailureReason::AssertFailure;
        added_asserts_ += failures;
        const bool may_fail = test_->m_may_fail || test_->m_should_fail;
        if (stats.testCaseSuccess && !may_fail) {
            stats.testCaseSuccess = false;
            ++added_cases_;
        }
    }

    void test_run_end(const ::doctest::TestRunStats& constant_stats) override
    {
        const framework_memory ours;
        auto& stats = const_cast<::doctest::TestRunStats&>(constant_stats);
        stats.numAsserts += added_asserts_;
        stats.numAssertsFailed += added_asserts_;
        stats.numTestCasesFailed += added_cases_;
        const Closing closing = session_->finish(stats.numTestCasesPassingFilters == stats.numTestCases);
        std::fputs(closing.text.c_str(), stdout);
        std::fflush(stdout);
        if (closing.failed) ++stats.numTestCasesFailed;
        session_.reset();
    }

    void report_query(const ::doctest::QueryData& /*query*/) override {}
    void test_case_exception(const ::doctest::TestCaseException& /*exception*/) override {}
    void subcase_start(const ::doctest::SubcaseSignature& /*subcase*/) override {}
    void subcase_end() override {}
    void log_assert(const ::doctest::AssertData& /*assertion*/) override {}
    void log_message(const ::doctest::MessageData& /*message*/) override {}
    void test_case_skipped(const ::doctest::TestCaseData& /*test*/) override {}

private:
    static void fail(const char* file, unsigned line, const Finding& finding)
    {
        const std::string text = finding.title + "\n" + finding.text;
        DOCTEST_ADD_FAIL_CHECK_AT(file, static_cast<int>(line), ::doctest::String(text.c_str()));
    }

    std::unique_ptr<TestSession> session_;
    const ::doctest::TestCaseData* test_ = nullptr;
    int added_asserts_ = 0;
    int added_cases_ = 0;
    bool untried_ = true; ///< whether allocations are recorded at all
};

inline const int registered = ::doctest::registerReporter<Listener>("heapmark", 0, false);

} // namespace heapmark::doctest_adapter

#endif
