// SPDX-License-Identifier: BSL-1.0
// Catch2, version 2 and 3 (tried: 2.13 in each test run, 3.7.1 by hand): each run through a test case (one for each of its
// leaf sections) is judged by what it leaves on the heap. Link heapmark::catch2, and with version 3
// Catch2::Catch2WithMain, too, as without heapmark; without CMake, include this in one source file.
#ifndef HEAPMARK_CATCH2_HPP
#define HEAPMARK_CATCH2_HPP

#include <heapmark/adapter.hpp>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_test_case_info.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#define HEAPMARK_CATCH2_VERSION 3
#else
#ifndef CATCH_CONFIG_EXTERNAL_INTERFACES
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#endif
#include <catch2/catch.hpp>
#define HEAPMARK_CATCH2_VERSION 2
#endif

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <set>
#include <utility>

namespace heapmark::catch2_adapter {

#if HEAPMARK_CATCH2_VERSION == 3
using ListenerBase = Catch::EventListenerBase;
#else
using ListenerBase = Catch::TestEventListenerBase;
#endif

/// The outermost section of a test case ends when its function has returned, and before Catch2 counts what failed.
class Listener : public ListenerBase {
public:
    using ListenerBase::ListenerBase;

    void testRunStarting(const Catch::TestRunInfo& run) override
    {
        const framework_memory ours;
        ListenerBase::testRunStarting(run);
        try {
            session_ = std::make_unique<TestSession>();
        } catch (const std::exception& mistake) {
            std::fprintf(stderr, "heapmark: %s\n", mistake.what());
            std::exit(2);
        }
    }

    void testCaseStarting(const Catch::TestCaseInfo& test) override
    {
        const framework_memory ours;
        ListenerBase::testCaseStarting(test);
        name_ = test.name;
    }

    void sectionStarting(const Catch::SectionInfo& section) override
    {
        begin(section, __builtin_frame_address(0));
        // Catch2 goes on to save the handlers of signals, with whatever lies on the stack in what they do not use.
        if (depth_ == 1) wipe_dead_stack();
    }

    [[gnu::noinline]] void begin(const Catch::SectionInfo& section, const void* runner)
    {
        const framework_memory ours;
        ListenerBase::sectionStarting(section);
        if (depth_++ == 0) session_->enter(name_, runner);
    }

    void sectionEnded(const Catch::SectionStats& section) override
    {
        session_->wipe_before_leave();
        judge(section);
    }

    [[gnu::noinline]] void judge(const Catch::SectionStats& section)
    {
        const framework_memory ours;
        ListenerBase::sectionEnded(section);
        if (--depth_ != 0) return;
        const Catch::SourceLineInfo& place = section.sectionInfo.lineInfo;
        const Verdict verdict = session_->leave(place.file, static_cast<unsigned>(place.line));
        std::fputs(verdict.notes.c_str(), stdout);
        std::fflush(stdout);
        for (const Finding& finding : verdict.failures)
            fail(finding.file, finding.line, finding.title + "\n" + finding.text);
        if (std::exchange(untried_, false) && *TestSession::problem() != '\0') {
            fail(place.file, static_cast<unsigned>(place.line),
                 std::string("heapmark: no allocation is recorded, so no test is checked\n") + TestSession::problem());
        }
    }

    void testRunEnded(const Catch::TestRunStats& run) override
    {
        const framework_memory ours;
        ListenerBase::testRunEnded(run);
        const Closing closing = session_->finish(false);
        std::fputs(closing.text.c_str(), stdout);
        std::fflush(stdout);
        session_.reset();
        if (closing.failed) std::_Exit(1); // too late to count as a failure of a test
    }

private:
    void fail(const std::string& file, unsigned line, const std::string& text)
    {
        // Reporters that write at the end keep the pointer to the file's name.
        const Catch::SourceLineInfo place(files_.insert(file).first->c_str(), line);
        Catch::AssertionHandler handler(Catch::StringRef("heapmark"), place, Catch::StringRef(),
                                        Catch::ResultDisposition::ContinueOnFailure);
        handler.handleMessage(Catch::ResultWas::ExplicitFailure, std::string(text));
        handler.complete();
    }

    static inline std::set<std::string> files_;
    std::unique_ptr<TestSession> session_;
    std::string name_;
    int depth_ = 0;
    bool untried_ = true; ///< whether allocations are recorded at all
};

inline const Catch::ListenerRegistrar<Listener> registered
#if HEAPMARK_CATCH2_VERSION == 3
    {"heapmark"}
#endif
;

} // namespace heapmark::catch2_adapter

#endif
