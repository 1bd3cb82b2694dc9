// SPDX-License-Identifier: BSL-1.0
// The API: traces that begin and end in the middle of a program's life, and what is found in them.
#include "../interpose/expect.hpp"

#include <heapmark/heapmark.hpp>
#include <heapmark/trace.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

using heapmark::TraceMatch;

std::string path_of(const char* name) { return "/tmp/heapmark_trace_test." + std::to_string(getpid()) + "." + name; }

/// Traces what `action` does.
template <class Action>
TraceMatch traced(const std::string& path, Action action)
{
    EXPECT_EQ(heapmark::trace_start(path.c_str()), 0);
    EXPECT(heapmark::trace_status().active);
    action();
    heapmark::trace_stop();
    EXPECT(!heapmark::trace_status().active);
    EXPECT_EQ(heapmark::trace_status().dropped, 0);
    return heapmark::match_traces({path});
}

void* allocated(std::size_t bytes)
{
    void* block = std::malloc(bytes);
    heapmark::escape(block);
    return block;
}

void ordinary(const std::string& path)
{
    void* older = allocated(10);
    void* lost = nullptr;
    const TraceMatch match = traced(path, [&] {
        std::free(older);
        lost = allocated(100);
        std::free(allocated(200));
        void* grown = allocated(300);
        grown = opaque(std::realloc(grown, 30'000));
        EXPECT(std::realloc(opaque(grown), opaque(std::size_t{1} << 62)) == nullptr);
        std::free(opaque(grown));
        delete new int(7);
        void* gone = allocated(50);
        gone = std::realloc(gone, 0);
        heapmark::escape(gone);
    });
    EXPECT_EQ(match.leaks.size(), 1);
    if (match.leaks.empty()) return;
    const heapmark::TraceLeak& leak = match.leaks.front();
    EXPECT_EQ(leak.address, reinterpret_cast<std::uintptr_t>(lost));
    EXPECT_EQ(leak.bytes, 100);
    EXPECT_EQ(leak.process, static_cast<std::uint32_t>(getpid()));
    EXPECT(leak.trace == path);
    EXPECT(leak.record.find("= malloc(100)") != std::string::npos);
    EXPECT(match.text.find("ordinary") != std::string::npos); // the stack
    EXPECT(match.warnings.empty());
    EXPECT_EQ(match.unknown_frees + match.double_frees + match.allocated_twice, 0);
    std::free(lost);
}

/// Nothing of one trace in the next; threads keep their chunks only as long as the trace.
void one_after_another(const std::string& path)
{
    std::thread other;
    std::atomic<int> turn{0};
    void* blocks[4] = {};
    const auto wait_for = [&](int value) {
        while (turn.load() != value) std::this_thread::yield();
    };
    other = std::thread([&] {
        for (int i = 0; i < 4; ++i) {
            wait_for(2 * i + 1);
            blocks[i] = allocated(static_cast<std::size_t>(1000 + i));
            turn.store(2 * i + 2);
        }
    });
    const auto let_it = [&](int i) {
        turn.store(2 * i + 1);
        wait_for(2 * i + 2);
    };
    for (int i = 0; i < 4; ++i) {
        const TraceMatch match = traced(path, [&] {
            let_it(i);
            if (i >= 2) std::free(blocks[i]);
        });
        EXPECT_EQ(match.leaked_bytes, i >= 2 ? 0U : 1000U + static_cast<unsigned>(i));
    }
    other.join();
    for (int i = 0; i < 2; ++i) std::free(blocks[i]);
    EXPECT(heapmark::match_traces({path, path}).leaks.empty());
}

void wrong_frees(const std::string& path)
{
    const TraceMatch match = traced(path, [] {
        void* block = allocated(10);
        void* const again = opaque(block);
        std::free(block);
        std::free(again);
        static long array[8];
        std::free(opaque(&array[2]));
    });
    EXPECT_EQ(match.double_frees, 1);
    EXPECT_EQ(match.unknown_frees, 1);
    EXPECT_EQ(match.warnings.size(), 2);
    EXPECT(match.leaks.empty());
}

void ignored(const std::string& path)
{
    void* kept = nullptr;
    const TraceMatch match = traced(path, [&] {
        const heapmark::ignore scope;
        kept = allocated(10);
    });
    EXPECT(match.leaks.empty());
    std::free(kept);
}

/// A handler that allocates, in the midst of everything.
void in_signal_handlers(const std::string& path)
{
    static std::atomic<std::uint64_t> handled{0};
    struct sigaction action {};
    action.sa_handler = [](int) {
        void* block = std::malloc(30);
        heapmark::escape(block);
        handled.fetch_add(1);
        std::free(block);
    };
    // Handlers may not come inside glibc's malloc, so the thread sends them to itself, where heapmark's code is running
    // alone by chance; the signal is raised between, and the records of both stay apart.
    sigaction(SIGUSR1, &action, nullptr);
    const TraceMatch match = traced(path, [] {
        for (int i = 0; i < 20'000; ++i) {
            void* block = allocated(static_cast<std::size_t>(i % 100 + 1));
            if (i % 50 == 0) raise(SIGUSR1);
            std::free(block);
        }
    });
    EXPECT(handled.load() == 400);
    EXPECT(match.leaks.empty());
    EXPECT(match.warnings.empty());
}

void in_forked_child(const std::string& path)
{
    void* before = allocated(5);
    pid_t child = -1;
    const TraceMatch match = traced(path, [&] {
        void* both = allocated(40);
        child = fork();
        if (child == 0) {
            std::free(before);
            std::free(both);
            static_cast<void>(allocated(60));
            _exit(0);
        }
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
        std::free(both);
    });
    EXPECT(match.leaks.empty());
    EXPECT(match.warnings.empty());
    const std::string childs = path + "." + std::to_string(child);
    const TraceMatch in_child = heapmark::match_traces({childs});
    EXPECT_EQ(in_child.leaked_bytes, 60);
    EXPECT(in_child.warnings.empty());
    unlink(childs.c_str());
    std::free(before);
}

/// As many at once as there are, while traces come and go.
void under_load(const std::string& path)
{
    std::atomic<bool> stop{false};
    std::thread threads[4];
    for (std::thread& thread : threads)
        thread = std::thread([&] {
            while (!stop.load()) {
                void* block = std::realloc(allocated(30), 400);
                heapmark::escape(block);
                std::free(block);
            }
        });
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(heapmark::trace_start(path.c_str()), 0);
        std::this_thread::yield();
        if (i % 2 == 0) heapmark::trace_stop();
    }
    stop.store(true);
    for (std::thread& thread : threads) thread.join();
    heapmark::trace_stop();
    EXPECT_EQ(heapmark::trace_status().dropped, 0);
    EXPECT(heapmark::match_traces({path}).warnings.empty());
}

void errors(const std::string& path)
{
    EXPECT_EQ(heapmark::trace_start("/nonexistent/trace"), ENOENT);
    EXPECT(!heapmark::trace_status().active);
    heapmark::trace_stop(); // nothing to stop
    bool thrown = false;
    try {
        static_cast<void>(heapmark::match_traces({path + ".none"}));
    } catch (const std::runtime_error& error) {
        thrown = std::strstr(error.what(), path.c_str()) != nullptr;
    }
    EXPECT(thrown);
}

} // namespace

int main()
{
    const std::string path = path_of("trace");
    const heapmark::Generation begin = heapmark::mark();
    ordinary(path);
    one_after_another(path);
    wrong_frees(path);
    ignored(path);
    in_signal_handlers(path);
    in_forked_child(path);
    under_load(path);
    errors(path);
    unlink(path.c_str());
    const heapmark::Snapshot left = heapmark::survivors(begin);
    if (!EXPECT(left.empty())) heapmark::print(left, stderr);
    return verdict();
}
