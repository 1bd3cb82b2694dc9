// SPDX-License-Identifier: BSL-1.0
// Google Test: each test is judged by what it leaves on the heap. 1.12 and newer; tried with 1.12 and 1.18.
// Link heapmark::gtest_main instead of GTest::gtest_main and no test needs to change; instead of GTest::gmock_main, link
// GTest::gmock with it, whose flags it takes, too. With a main of your own, link heapmark::gtest and say, after
// InitGoogleTest:
//
//     heapmark::gtest::install();
//
// In XML and JSON each test has what it allocated as properties; the fixture is part of it, and what Google Test keeps
// while it runs (two or three blocks).
//
// What tests can say beside that is in gtest_assertions.hpp, which this includes.
#ifndef HEAPMARK_GTEST_HPP
#define HEAPMARK_GTEST_HPP

#include <heapmark/gtest_assertions.hpp>

#include <gtest/gtest-spi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

namespace heapmark::gtest {

/// Hears of tests after everybody else when they begin and before everybody else when they end, so that what other
/// listeners do is no test's. OnTestEnd comes when the fixture is destroyed already.
class Listener : public ::testing::EmptyTestEventListener {
public:
    explicit Listener(const TestOptions& options) : session_(options) {}

    void OnTestProgramStart(const ::testing::UnitTest& /*suites*/) override
    {
        const framework_memory ours;
        make_room_for_results();
        if (*TestSession::problem() != '\0')
            fail(nullptr, 0, "heapmark: no allocation is recorded, so no test is checked", TestSession::problem());
    }
    void OnEnvironmentsSetUpStart(const ::testing::UnitTest& /*suites*/) override
    {
        session_.enter("the environment", __builtin_frame_address(0));
    }
    void OnEnvironmentsTearDownEnd(const ::testing::UnitTest& /*suites*/) override
    {
        session_.wipe_before_leave();
        leave(nullptr, 0, Properties::none);
    }

    void OnTestSuiteStart(const ::testing::TestSuite& suite) override
    {
        const framework_memory ours;
        session_.enter(std::string("suite ") + suite.name(), __builtin_frame_address(0));
    }
    void OnTestSuiteEnd(const ::testing::TestSuite& /*suite*/) override
    {
        session_.wipe_before_leave();
        leave(nullptr, 0, Properties::left);
    }

    void OnTestStart(const ::testing::TestInfo& test) override
    {
        const framework_memory ours;
        name_.assign(test.test_suite_name()).append(1, '.').append(test.name());
        session_.enter(name_, __builtin_frame_address(0));
    }
    void OnTestEnd(const ::testing::TestInfo& test) override
    {
        session_.wipe_before_leave();
        leave(test.file(), test.line(), Properties::used_and_left);
    }

    void OnTestProgramEnd(const ::testing::UnitTest& suites) override
    {
        const framework_memory ours;
        const Closing closing = session_.finish(suites.test_to_run_count() == suites.total_test_count());
        std::fputs(closing.text.c_str(), stdout);
        std::fflush(stdout);
        // Too late for a failure of a test, and too bad to pass in silence.
        if (closing.failed) std::_Exit(1);
    }

private:
    /// Has what Google Test makes once for its results made now: it would be the first suite's, and take a look-up of
    /// names to tell. Other listeners hear of a result only when a test has one.
    static void make_room_for_results()
    {
        ::testing::TestPartResultArray nobody_looks;
        const ::testing::ScopedFakeTestPartResultReporter reporter(
            ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &nobody_looks);
        SUCCEED();
    }

    static void fail(const char* file, unsigned line, const std::string& title, const std::string& text)
    {
        ::testing::internal::AssertHelper(::testing::TestPartResult::kNonFatalFailure, file, static_cast<int>(line),
                                          title.c_str()) = ::testing::Message() << text;
    }

    enum class Properties { none, left, used_and_left };

    [[gnu::noinline]] void leave(const char* file, int line, Properties properties)
    {
        const framework_memory ours; // Google Test keeps results, too
        const Verdict verdict = session_.leave(file, static_cast<unsigned>(line < 0 ? 0 : line));
        for (const Finding& finding : verdict.failures)
            fail(finding.file.empty() ? nullptr : finding.file.c_str(), finding.line, finding.title, finding.text);
        if (!verdict.notes.empty()) {
            std::fputs(verdict.notes.c_str(), stdout);
            std::fflush(stdout);
        }
        if (properties != Properties::none && (verdict.left.blocks != 0 || verdict.failed())) {
            record("heapmark_blocks", verdict.left.blocks);
            record("heapmark_bytes", verdict.left.bytes);
        }
        // For a file alone: Google Test takes its time over each property.
        if (properties == Properties::used_and_left && writes_file()) {
            record("heapmark_allocations", verdict.used.blocks);
            record("heapmark_allocated_bytes", verdict.used.bytes);
            record("heapmark_peak_bytes", verdict.used.peak_bytes);
        }
    }

    static bool writes_file()
    {
#ifdef GTEST_FLAG_GET
        return !GTEST_FLAG_GET(output).empty();
#else
        return !::testing::GTEST_FLAG(output).empty();
#endif
    }

    static void record(const char* name, std::uint64_t value)
    {
        ::testing::Test::RecordProperty(name, std::to_string(value));
    }

    TestSession session_;
    std::string name_; ///< of the test; keeps its memory
};

/// Has each test judged. Call it once, after InitGoogleTest and before RUN_ALL_TESTS.
/// Errors: what `options` name and cannot be read ends the program with status 2, saying so.
inline void install(const TestOptions& options)
{
    const framework_memory ours;
    try {
        ::testing::UnitTest::GetInstance()->listeners().Append(new Listener(options));
    } catch (const std::exception& mistake) {
        std::fprintf(stderr, "heapmark: %s\n", mistake.what());
        std::exit(2);
    }
#ifdef GTEST_FLAG_SET
    if (options.policy == Policy::growth && GTEST_FLAG_GET(repeat) == 1)
        GTEST_FLAG_SET(repeat, static_cast<int>(options.repeats));
#else
    if (options.policy == Policy::growth && ::testing::GTEST_FLAG(repeat) == 1)
        ::testing::GTEST_FLAG(repeat) = static_cast<int>(options.repeats);
#endif
}

namespace detail {
[[gnu::noinline]] inline void install_with_options_of_environment() { install(TestOptions{}); }
} // namespace detail

/// The same, with what HEAPMARK_OPTIONS says.
inline void install()
{
    detail::install_with_options_of_environment();
    wipe_dead_stack(); // freed texts of those options were there, and main's frame lasts
}

} // namespace heapmark::gtest

#endif
