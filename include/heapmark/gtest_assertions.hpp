// SPDX-License-Identifier: BSL-1.0
// Google Test: assertions on what a statement allocates and leaves, and matchers of snapshots.
//
//     EXPECT_NO_SURVIVORS(parser.parse(text));
//     EXPECT_SURVIVORS(cache.fill(), 3, testing::Le(100));                    // blocks, bytes
//     EXPECT_SURVIVORS(cache.fill(), Survivors(Bytes(Le(100)), By("Cache::fill", Blocks(2))));   // heapmark::gtest::
//     EXPECT_NO_ALLOCATIONS(ring.push(1));                                    // budgets
//     EXPECT_ALLOCATIONS_LE(parser.parse(text), 3);
//     EXPECT_PEAK_BYTES_LE(parser.parse(text), 4096);
//     HEAPMARK_EXPECT_LEAK("the driver keeps its table; ticket 12");          // in a test that is known to leak
#ifndef HEAPMARK_GTEST_ASSERTIONS_HPP
#define HEAPMARK_GTEST_ASSERTIONS_HPP

#include <heapmark/adapter.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace heapmark {

/// How Google Test prints a snapshot; found by argument-dependent look-up.
inline void PrintTo(const Snapshot& snapshot, std::ostream* out)
{
    *out << snapshot.size() << (snapshot.size() == 1 ? " block, " : " blocks, ") << snapshot.bytes() << " bytes";
}

namespace gtest {

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
