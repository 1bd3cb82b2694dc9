// SPDX-License-Identifier: BSL-1.0
// The question put to other tools, as each of them can be asked from inside the process; found when the program runs,
// since most are preloaded.
#include "question.hpp"

#include <cstdlib>
#include <dlfcn.h>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define BENCH_WITH_VALGRIND 1
#endif

namespace bench {
namespace {

template <class Function>
Function* find(const char* name)
{
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

/// A check of the whole heap: LeakSanitizer has no marks.
class LeakSanitizerQuestion final : public Question {
public:
    explicit LeakSanitizerQuestion(int (*check)()) : check_(check) {}
    void mark() override {}
    void ask(std::size_t) override { check_(); }

private:
    int (*check_)();
};

/// gperftools' HeapLeakChecker, by its mangled names, which were the same as long as there was one.
class HeapCheckerQuestion final : public Question {
public:
    void mark() override
    {
        end();
        find<void(void*, const char*)>("_ZN15HeapLeakCheckerC1EPKc")(object_, "question");
        begun_ = true;
    }
    void ask(std::size_t) override
    {
        find<bool(void*, int)>("_ZN15HeapLeakChecker9DoNoLeaksENS_15ShouldSymbolizeE")(object_, 0);
    }
    ~HeapCheckerQuestion() override { end(); }

private:
    void end()
    {
        if (begun_) find<void(void*)>("_ZN15HeapLeakCheckerD1Ev")(object_);
    }
    bool begun_ = false;
    alignas(16) char object_[256]{};
};

/// A dump of the profile of all that is live; which of it is new is for a program to find out afterwards.
class JemallocQuestion final : public Question {
public:
    using Control = int(const char*, void*, std::size_t*, void*, std::size_t);
    explicit JemallocQuestion(Control* control) : control_(control) {}
    void mark() override {}
    void ask(std::size_t) override
    {
        const char* path = "/dev/null";
        if (control_("prof.dump", nullptr, nullptr, &path, sizeof path) != 0) std::exit(1);
    }

private:
    Control* control_;
};

class DmallocQuestion final : public Question {
public:
    void mark() override { mark_ = find<unsigned long()>("dmalloc_mark")(); }
    void ask(std::size_t) override
    {
        find<unsigned long(unsigned long, int, int)>("dmalloc_count_changed")(mark_, 1, 0);
    }

private:
    unsigned long mark_ = 0;
};

#ifdef BENCH_WITH_VALGRIND
class ValgrindQuestion final : public Question {
public:
    void mark() override { VALGRIND_DO_QUICK_LEAK_CHECK; }
    void ask(std::size_t) override { VALGRIND_DO_ADDED_LEAK_CHECK; }
};
#endif

} // namespace

std::unique_ptr<Question> make_question()
{
    if (auto* check = find<int()>("__lsan_do_recoverable_leak_check"))
        return std::make_unique<LeakSanitizerQuestion>(check);
    if (std::getenv("HEAPCHECK") != nullptr && find<void()>("_ZN15HeapLeakCheckerC1EPKc") != nullptr)
        return std::make_unique<HeapCheckerQuestion>();
    if (auto* control = find<JemallocQuestion::Control>("mallctl")) return std::make_unique<JemallocQuestion>(control);
    if (find<void()>("dmalloc_mark") != nullptr) return std::make_unique<DmallocQuestion>();
#ifdef BENCH_WITH_VALGRIND
    if (RUNNING_ON_VALGRIND != 0) return std::make_unique<ValgrindQuestion>();
#endif
    return nullptr;
}

void measure_marks_and_counts() {}

void run_report(const Settings&)
{
    std::fprintf(stderr, "report: of heapmark linked in alone\n");
    std::exit(3);
}

} // namespace bench
