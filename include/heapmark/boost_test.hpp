// SPDX-License-Identifier: BSL-1.0
// Boost.Test, 1.65 and newer: each test case, and each suite with its fixtures, is judged by what it leaves on the heap.
// Linking heapmark::boost_test is enough, whether the framework is a library of the program's or included into it
// (boost/test/included/unit_test.hpp); without CMake, include this in one source file.
#ifndef HEAPMARK_BOOST_TEST_HPP
#define HEAPMARK_BOOST_TEST_HPP

#include <heapmark/adapter.hpp>

#include <boost/smart_ptr/make_shared.hpp>
#include <boost/test/framework.hpp>
#include <boost/test/results_collector.hpp>
#include <boost/test/tree/fixture.hpp>
#include <boost/test/tree/observer.hpp>
#include <boost/test/tree/test_unit.hpp>
#include <boost/test/tree/traverse.hpp>
#include <boost/test/tree/visitor.hpp>
#include <boost/test/unit_test_log.hpp>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heapmark::boost_test_adapter {

namespace ut = ::boost::unit_test;

/// Boost.Test has no current test any more when it tells observers that one has ended, so nothing can fail then. Each
/// unit therefore gets fixtures of ours before its own, global ones included. The outer one is torn down last, when
/// the others are gone, and what fails in it is the unit's. The inner one marks where the unit's memory begins and ends:
/// between it and the next, what is allocated is Boost.Test's, such as the function object that tears the outer one down.
class Listener : public ut::test_observer {
public:
    Listener()
    {
        ut::framework::register_observer(*this);
        ut::framework::register_observer(edge_);
    }

    /// Hears of units after everybody else when they begin and before everybody else when they end.
    int priority() override { return INT_MAX; }

    void test_start(ut::counter_t enabled, ut::test_unit_id root) override
    {
        const framework_memory ours;
        if (session_ != nullptr) return; // a run within a run
        Preparation preparation;
        ut::traverse_test_tree(root, preparation, true);
        whole_ = enabled == preparation.cases;
        // The place for the text of a checkpoint, which a test would make otherwise, and which is kept.
        ut::unit_test_log_t::instance().set_checkpoint("", 0, std::string(1000, ' '));
        try {
            session_ = std::make_unique<TestSession>();
        } catch (const std::exception& mistake) {
            std::fprintf(stderr, "heapmark: %s\n", mistake.what());
            std::exit(2);
        }
    }

    void test_unit_start(const ut::test_unit& unit) override
    {
        if (session_ == nullptr) return;
        wipe_dead_stack();
        // The frame of the function that runs the unit ends here, and saves all registers that it uses. It lasts; those
        // of what it calls to tear fixtures down come when the unit has ended.
        const void* const runner = static_cast<void**>(__builtin_frame_address(0)) + 2;
        auto& fixtures = fixtures_of(unit);
        fixtures.insert(fixtures.begin(), ::boost::make_shared<Inner>(*this, unit, runner));
        fixtures.insert(fixtures.begin(), ::boost::make_shared<Outer>(*this, unit));
    }

    void test_unit_finish(const ut::test_unit& unit, unsigned long /*elapsed*/) override
    {
        if (session_ == nullptr) return;
        framework_.emplace();
        auto& fixtures = fixtures_of(unit);
        fixtures.erase(fixtures.begin(), fixtures.begin() + 2);
        if (open_.empty() || open_.back() != unit.p_id) return;
        // After a crash nothing is torn down, and what is left says nothing.
        open_.pop_back();
        static_cast<void>(session_->leave());
    }

    void test_finish() override
    {
        const framework_memory ours;
        if (open_.empty()) session_.reset();
    }

private:
    /// Counts all test cases, also those that a filter leaves out, and has the places for results made, which are kept.
    class Preparation : public ut::test_tree_visitor {
    public:
        using ut::test_tree_visitor::visit;
        bool visit(const ut::test_unit& unit) override
        {
            static_cast<void>(ut::results_collector_t::instance().results(unit.p_id));
            if (unit.p_type == ut::TUT_CASE) ++cases;
            return true;
        }

        ut::counter_t cases = 0;
    };

    /// Hears of units before everybody else when they begin and after everybody else when they end. Boost.Test's own
    /// first observer, of priority 0, is not ready before it has heard of the start itself.
    class Edge : public ut::test_observer {
    public:
        explicit Edge(Listener& listener) : listener_(listener) {}
        int priority() override { return 1; }
        void test_unit_start(const ut::test_unit& /*unit*/) override { listener_.framework_.emplace(); }
        void test_unit_finish(const ut::test_unit& /*unit*/, unsigned long /*elapsed*/) override
        {
            listener_.framework_.reset();
        }

    private:
        Listener& listener_;
    };

    class Fixture : public ut::test_unit_fixture {
    public:
        Fixture(Listener& listener, const ut::test_unit& unit) : listener_(listener), unit_(unit) {}

    protected:
        Listener& listener_;
        const ut::test_unit& unit_;
    };
    class Inner : public Fixture {
    public:
        Inner(Listener& listener, const ut::test_unit& unit, const void* runner)
            : Fixture(listener, unit), runner_(runner)
        {}
        void setup() override
        {
            listener_.enter(unit_, runner_);
            listener_.framework_.reset();
        }
        void teardown() override { listener_.framework_.emplace(); }

    private:
        const void* runner_;
    };
    class Outer : public Fixture {
    public:
        using Fixture::Fixture;
        void setup() override {}
        void teardown() override
        {
            listener_.session_->wipe_before_leave();
            listener_.leave(unit_);
        }
    };

    static ut::test_unit::fixture_list_t& fixtures_of(const ut::test_unit& unit)
    {
        return ut::framework::get(unit.p_id, ut::TUT_ANY).p_fixtures.value;
    }

    void enter(const ut::test_unit& unit, const void* runner)
    {
        const bool is_test = unit.p_type == ut::TUT_CASE;
        const bool is_module = open_.empty() && !is_test;
        session_->enter(is_module ? "the test module" : (is_test ? "" : "suite ") + unit.full_name(), runner);
        open_.push_back(unit.p_id);
    }

    [[gnu::noinline]] void leave(const ut::test_unit& unit)
    {
        open_.pop_back();
        const std::string file(unit.p_file_name.begin(), unit.p_file_name.size());
        const auto line = static_cast<unsigned>(unit.p_line_num);
        const Verdict verdict = session_->leave(file.empty() ? nullptr : file.c_str(), line);
        tell(verdict.notes);
        for (const Finding& finding : verdict.failures)
            fail(finding.file, finding.line, finding.title + "\n" + finding.text);
        if (std::exchange(untried_, false) && *TestSession::problem() != '\0') {
            fail(file, line,
                 std::string("heapmark: no allocation is recorded, so no test is checked\n") + TestSession::problem());
        }
        if (!open_.empty()) return;
        const Closing closing = session_->finish(whole_);
        tell(closing.text);
        if (closing.failed) fail(file, line, "heapmark: the run fails for what is said above");
    }

    static void tell(const std::string& text)
    {
        std::fputs(text.c_str(), stdout);
        std::fflush(stdout);
    }

    static void fail(const std::string& file, unsigned line, const std::string& text)
    {
        ut::unit_test_log_t::instance() << ut::log::begin(file, line) << ut::log_all_errors << ut::const_string(text)
                                        << ut::log::end();
        ut::framework::assertion_result(ut::AR_FAILED);
    }

    Edge edge_{*this};
    std::unique_ptr<TestSession> session_;
    std::optional<framework_memory> framework_; ///< set while what is allocated is Boost.Test's
    std::vector<ut::test_unit_id> open_;        ///< units that have begun, the innermost last
    bool whole_ = false;
    bool untried_ = true; ///< whether allocations are recorded at all
};

inline Listener listener;

} // namespace heapmark::boost_test_adapter

#endif
