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
// In tests, where more than "the test left something" is to be said:
//
//     EXPECT_NO_SURVIVORS(parser.parse(text));
//     EXPECT_SURVIVORS(cache.fill(), 3, testing::Le(100));                    // blocks, bytes
//     EXPECT_SURVIVORS(cache.fill(), Survivors(Bytes(Le(100)), By("Cache::fill", Blocks(2))));   // heapmark::gtest::
//     EXPECT_NO_ALLOCATIONS(ring.push(1));                                    // budgets
//     EXPECT_ALLOCATIONS_LE(parser.parse(text), 3);
//     EXPECT_PEAK_BYTES_LE(parser.parse(text), 4096);
//     HEAPMARK_EXPECT_LEAK("the driver keeps its table; ticket 12");          // in a test that is known to leak
#ifndef HEAPMARK_GTEST_HPP
#define HEAPMARK_GTEST_HPP

#include <heapmark/adapter.hpp>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <ostream>
#include <sstream>
#include <utility>
#include <vector>

namespace heapmark {

/// How Google Test prints a snapshot; found by argument-dependent look-up.
inline void PrintTo(const Snapshot& snapshot, std::ostream* out)
{
    *out << snapshot.size() << (snapshot.size() == 1 ? " block, " : " blocks, ") << snapshot.bytes() << " bytes";
}

namespace gtest {

// ---------------------------------------------------------------- each test is judged

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

// ---------------------------------------------------------------- matchers of snapshots

namespace detail {

enum class Measure { blocks, bytes };

class MeasureMatcher : public ::testing::MatcherInterface<const Snapshot&> {
public:
    MeasureMatcher(Measure measure, ::testing::Matcher<std::uint64_t> inner)
        : measure_(measure), inner_(std::move(inner))
    {}
    bool MatchAndExplain(const Snapshot& snapshot, ::testing::MatchResultListener* listener) const override
    {
        const std::uint64_t value = measure_ == Measure::blocks ? snapshot.size() : snapshot.bytes();
        *listener << "which has " << value << name();
        return inner_.MatchAndExplain(value, listener);
    }
    void DescribeTo(std::ostream* out) const override { describe(out, false); }
    void DescribeNegationTo(std::ostream* out) const override { describe(out, true); }

private:
    [[nodiscard]] const char* name() const { return measure_ == Measure::blocks ? " blocks" : " bytes"; }
    void describe(std::ostream* out, bool negated) const
    {
        *out << "number of" << name() << " ";
        if (negated)
            inner_.DescribeNegationTo(out);
        else
            inner_.DescribeTo(out);
    }

    Measure measure_;
    ::testing::Matcher<std::uint64_t> inner_;
};

class ByMatcher : public ::testing::MatcherInterface<const Snapshot&> {
public:
    ByMatcher(std::string function, ::testing::Matcher<const Snapshot&> inner)
        : function_(std::move(function)), inner_(std::move(inner))
    {}
    bool MatchAndExplain(const Snapshot& snapshot, ::testing::MatchResultListener* listener) const override
    {
        return inner_.MatchAndExplain(snapshot.filter(in_function(function_.c_str())), listener);
    }
    void DescribeTo(std::ostream* out) const override
    {
        *out << "by " << function_ << ": ";
        inner_.DescribeTo(out);
    }
    void DescribeNegationTo(std::ostream* out) const override
    {
        *out << "by " << function_ << ": ";
        inner_.DescribeNegationTo(out);
    }

private:
    std::string function_;
    ::testing::Matcher<const Snapshot&> inner_;
};

/// Runs the statement in a generation of its own. What the macros judge is not judged again when the test ends.
class Statement {
public:
    Statement() noexcept : first_(mark()) {}

    [[nodiscard]] Snapshot survivors() const
    {
        const Generation last{static_cast<std::uint64_t>(mark()) - 1};
        TestSession* session = TestSession::current();
        const Snapshot left = session != nullptr
                                  ? session->survivors(first_, last)
                                  : heapmark::survivors(first_, last).filter(by_this_thread_and_its_children(first_));
        for (const Block& block : left) forget(block.address);
        return left;
    }

    /// The generations that it ran in.
    struct Run {
        Generation first;
        Generation last;
    };
    [[nodiscard]] Run ended() const noexcept { return {first_, Generation{static_cast<std::uint64_t>(mark()) - 1}}; }

private:
    Generation first_;
};

inline std::string stacks_of(const Snapshot& snapshot)
{
    if (const TestSession* session = TestSession::current()) return session->describe(snapshot);
    return ::testing::PrintToString(snapshot);
}

/// For EXPECT_PRED_FORMAT: the first two arguments are the source of the others.
inline ::testing::AssertionResult none(const char* /*left*/, const char* /*statement*/, const Snapshot& left,
                                       const char* statement)
{
    const framework_memory ours;
    if (*TestSession::problem() != '\0')
        return ::testing::AssertionFailure() << "heapmark could not check it: " << TestSession::problem();
    if (left.empty()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << statement << "\nleft " << ::testing::PrintToString(left) << ":\n"
                                         << stacks_of(left);
}

inline ::testing::AssertionResult as_told(const char* /*left*/, const char* /*statement*/, const char* /*told*/,
                                          const Snapshot& left, const char* statement,
                                          const ::testing::Matcher<const Snapshot&>& told)
{
    const framework_memory ours;
    if (*TestSession::problem() != '\0')
        return ::testing::AssertionFailure() << "heapmark could not check it: " << TestSession::problem();
    if (told.Matches(left)) return ::testing::AssertionSuccess();
    std::ostringstream expected;
    told.DescribeTo(&expected);
    return ::testing::AssertionFailure() << statement << "\nleft " << ::testing::PrintToString(left)
                                         << "\nexpected: " << expected.str() << "\n"
                                         << stacks_of(left);
}

/// What a budget limits.
enum class Budget { allocations, peak_bytes };

inline ::testing::AssertionResult within(Budget budget, const char* statement, Statement::Run run, std::uint64_t limit)
{
    const framework_memory ours;
    if (*TestSession::problem() != '\0')
        return ::testing::AssertionFailure() << "heapmark could not check it: " << TestSession::problem();
    const Allocations used = allocations(run.first, run.last, Threads::this_one_and_its_children);
    if ((budget == Budget::allocations ? used.blocks : used.peak_bytes) <= limit) return ::testing::AssertionSuccess();
    const Snapshot blocks = allocated(run.first, run.last).filter(by_this_thread_and_its_children(run.first));
    ::testing::AssertionResult result = ::testing::AssertionFailure();
    result << statement << "\nmade " << used.blocks << (used.blocks == 1 ? " allocation" : " allocations") << " of "
           << used.bytes << " bytes, at most " << used.peak_bytes << " bytes at once\nexpected: at most " << limit
           << (budget == Budget::allocations ? " allocations" : " bytes at once") << "\n";
    if (blocks.size() < used.blocks)
        result << "stacks of " << blocks.size() << " of them (the places of the others have been used again):\n";
    return result << stacks_of(blocks);
}

/// For EXPECT_PRED_FORMAT, as above.
inline ::testing::AssertionResult allocates_at_most(const char* /*run*/, const char* /*statement*/,
                                                    const char* /*limit*/, Statement::Run run, const char* statement,
                                                    std::uint64_t limit)
{
    return within(Budget::allocations, statement, run, limit);
}
inline ::testing::AssertionResult peaks_at_most(const char* /*run*/, const char* /*statement*/, const char* /*limit*/,
                                                Statement::Run run, const char* statement, std::uint64_t limit)
{
    return within(Budget::peak_bytes, statement, run, limit);
}

class AllMatcher : public ::testing::MatcherInterface<const Snapshot&> {
public:
    explicit AllMatcher(std::vector<::testing::Matcher<const Snapshot&>> all) : all_(std::move(all)) {}
    bool MatchAndExplain(const Snapshot& snapshot, ::testing::MatchResultListener* listener) const override
    {
        return std::all_of(all_.begin(), all_.end(),
                           [&](const auto& each) { return each.MatchAndExplain(snapshot, listener); });
    }
    void DescribeTo(std::ostream* out) const override
    {
        const char* separator = "";
        for (const auto& each : all_) {
            *out << separator;
            each.DescribeTo(out);
            separator = ", and ";
        }
    }

private:
    std::vector<::testing::Matcher<const Snapshot&>> all_;
};

} // namespace detail

/// A snapshot whose number of blocks matches.
inline ::testing::Matcher<const Snapshot&> Blocks(::testing::Matcher<std::uint64_t> number)
{
    return ::testing::MakeMatcher(new detail::MeasureMatcher(detail::Measure::blocks, std::move(number)));
}

/// A snapshot whose number of requested bytes matches.
inline ::testing::Matcher<const Snapshot&> Bytes(::testing::Matcher<std::uint64_t> number)
{
    return ::testing::MakeMatcher(new detail::MeasureMatcher(detail::Measure::bytes, std::move(number)));
}

/// A snapshot of which the blocks with the function in their stack match.
inline ::testing::Matcher<const Snapshot&> By(std::string function, ::testing::Matcher<const Snapshot&> blocks)
{
    return ::testing::MakeMatcher(new detail::ByMatcher(std::move(function), std::move(blocks)));
}

/// A snapshot that all of the matchers match: Survivors(Blocks(3), Bytes(Le(100)), By("Cache::fill", Blocks(1))).
template <class... Matchers>
inline ::testing::Matcher<const Snapshot&> Survivors(Matchers... matchers)
{
    return ::testing::MakeMatcher(
        new detail::AllMatcher({::testing::Matcher<const Snapshot&>(std::move(matchers))...}));
}

namespace detail {

inline ::testing::Matcher<const Snapshot&> told(::testing::Matcher<const Snapshot&> snapshot) { return snapshot; }
inline ::testing::Matcher<const Snapshot&> told(::testing::Matcher<std::uint64_t> blocks,
                                                ::testing::Matcher<std::uint64_t> bytes)
{
    const framework_memory ours;
    return Survivors(Blocks(std::move(blocks)), Bytes(std::move(bytes)));
}

inline void expect_leak(const char* file, int line, const char* reason, const char* function = "",
                        std::uint64_t blocks = 0)
{
    if (TestSession* session = TestSession::current())
        session->expect_leak(reason, function, blocks, file, static_cast<unsigned>(line));
}

} // namespace detail

} // namespace gtest

} // namespace heapmark

/// What a member function of the Statement tells once the statement has run.
#define HEAPMARK_GTEST_RUN(statement, told)                                                                            \
    [&] {                                                                                                              \
        const ::heapmark::gtest::detail::Statement heapmark_statement;                                                 \
        {                                                                                                              \
            statement;                                                                                                 \
        }                                                                                                              \
        return heapmark_statement.told();                                                                              \
    }()

/// The statement leaves nothing on the heap, whether something points to it or not.
#define EXPECT_NO_SURVIVORS(statement)                                                                                 \
    EXPECT_PRED_FORMAT2(::heapmark::gtest::detail::none, HEAPMARK_GTEST_RUN(statement, survivors), #statement)
#define ASSERT_NO_SURVIVORS(statement)                                                                                 \
    ASSERT_PRED_FORMAT2(::heapmark::gtest::detail::none, HEAPMARK_GTEST_RUN(statement, survivors), #statement)

/// The statement leaves what is told: a number of blocks and one of bytes (or matchers of those), or a matcher of
/// the snapshot (heapmark::gtest::Blocks, Bytes, By, Survivors).
#define EXPECT_SURVIVORS(statement, ...)                                                                               \
    EXPECT_PRED_FORMAT3(::heapmark::gtest::detail::as_told, HEAPMARK_GTEST_RUN(statement, survivors), #statement,      \
                        ::heapmark::gtest::detail::told(__VA_ARGS__))
#define ASSERT_SURVIVORS(statement, ...)                                                                               \
    ASSERT_PRED_FORMAT3(::heapmark::gtest::detail::as_told, HEAPMARK_GTEST_RUN(statement, survivors), #statement,      \
                        ::heapmark::gtest::detail::told(__VA_ARGS__))

/// The statement allocates nothing, in this thread and those that it starts; what it releases does not matter.
#define EXPECT_NO_ALLOCATIONS(statement) EXPECT_ALLOCATIONS_LE(statement, 0)
#define ASSERT_NO_ALLOCATIONS(statement) ASSERT_ALLOCATIONS_LE(statement, 0)

/// It makes so many allocations at most; a realloc is one.
#define EXPECT_ALLOCATIONS_LE(statement, limit)                                                                        \
    EXPECT_PRED_FORMAT3(::heapmark::gtest::detail::allocates_at_most, HEAPMARK_GTEST_RUN(statement, ended),            \
                        #statement, static_cast<std::uint64_t>(limit))
#define ASSERT_ALLOCATIONS_LE(statement, limit)                                                                        \
    ASSERT_PRED_FORMAT3(::heapmark::gtest::detail::allocates_at_most, HEAPMARK_GTEST_RUN(statement, ended),            \
                        #statement, static_cast<std::uint64_t>(limit))

/// It has so many bytes requested and not yet released at most, above what it began with (heapmark::Allocations).
#define EXPECT_PEAK_BYTES_LE(statement, limit)                                                                         \
    EXPECT_PRED_FORMAT3(::heapmark::gtest::detail::peaks_at_most, HEAPMARK_GTEST_RUN(statement, ended), #statement,    \
                        static_cast<std::uint64_t>(limit))
#define ASSERT_PEAK_BYTES_LE(statement, limit)                                                                         \
    ASSERT_PRED_FORMAT3(::heapmark::gtest::detail::peaks_at_most, HEAPMARK_GTEST_RUN(statement, ended), #statement,    \
                        static_cast<std::uint64_t>(limit))

/// The test that says so is known to leave memory: HEAPMARK_EXPECT_LEAK("reason"), or only what a function asked for,
/// HEAPMARK_EXPECT_LEAK("reason", "Driver::open"), or exactly so many blocks, HEAPMARK_EXPECT_LEAK("reason", "open", 2), or
/// blocks of a type, HEAPMARK_EXPECT_LEAK("reason", "type:Node", 2).
/// It fails when the test does not leave them any more.
#define HEAPMARK_EXPECT_LEAK(...) ::heapmark::gtest::detail::expect_leak(__FILE__, __LINE__, __VA_ARGS__)

#endif
