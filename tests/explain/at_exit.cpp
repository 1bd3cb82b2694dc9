// SPDX-License-Identifier: BSL-1.0
// explain_at_exit and lost_exit_code: text and exit status of programs that end clean, with lost or held memory, or such
// that it could not be checked. Runs itself.
#include "situations.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

void* kept;
std::atomic<bool> is_deaf{false};

[[gnu::noinline]] void lose()
{
    void* block = std::malloc(123);
    heapmark::escape(block);
}

/// Blocks all signals behind the C library's back.
void stay_deaf()
{
    const std::uint64_t all = ~std::uint64_t{0};
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, nullptr, sizeof all);
    is_deaf = true;
    for (;;) usleep(1000);
}

int play(const std::string& part)
{
    std::printf("said by the program");
    if (part == "leaves") _exit(6);
    if (part == "held") kept = std::malloc(77);
    heapmark::escape(&kept);
    if (part == "lost" || part == "child") lose();
    if (part == "child") {
        const pid_t child = fork();
        if (child == 0) return 5; // what the parent lost before is not the child's
        int status = -1;
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 5) return 9;
    }
    if (part == "deaf") {
        lose();
        std::thread(stay_deaf).detach();
        while (!is_deaf) std::this_thread::yield();
    }
    scrub_stack();
    return 3;
}

struct Run {
    int status;
    std::string text;
    [[nodiscard]] bool says(const char* part) const { return text.find(part) != std::string::npos; }
};

Run run(const char* program, const char* part, const char* options)
{
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        setenv("HEAPMARK_OPTIONS", options, 1);
        execl(program, program, part, nullptr);
        _exit(99);
    }
    close(ends[1]);
    Run result{-1, {}};
    char buffer[4096];
    for (ssize_t count = 0; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
        result.text.append(buffer, static_cast<std::size_t>(count));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
}

} // namespace

int main(int count, char** arguments)
{
    if (count > 1) return play(arguments[1]);
    const auto with = [&](const char* part, const char* options) { return run("/proc/self/exe", part, options); };
    constexpr const char* asked = "explain_at_exit=1:lost_exit_code=40";

    const Run clean = with("clean", asked);
    EXPECT_EQ(clean.status, 3);
    EXPECT(clean.says("no survivors to explain")); // the buffer of standard output is the C library's
    EXPECT(clean.says(") of the C library"));
    const Run all = with("clean", "explain_at_exit=1:plumbing=1");
    EXPECT(all.says("lost: 0 blocks"));
    EXPECT(!all.says(") of the C library"));
    const Run held = with("held", asked);
    EXPECT_EQ(held.status, 3);
    EXPECT(held.says("held: 1 block, 77 bytes"));
    const Run lost = with("lost", asked);
    EXPECT_EQ(lost.status, 40);
    EXPECT(lost.says("lost: 1 block, 123 bytes"));
    EXPECT(lost.says("said by the program")); // what was still in stdio's buffer
    const Run deaf = with("deaf", asked);
    EXPECT_EQ(deaf.status, 41);
    EXPECT(deaf.says("could not check: thread"));

    const Run leaves = with("leaves", asked);
    EXPECT_EQ(leaves.status, 6);
    EXPECT(leaves.says("ended by _exit, so there is no report"));

    EXPECT_EQ(with("lost", "explain_at_exit=1").status, 3);
    EXPECT_EQ(with("deaf", "explain_at_exit=1").status, 3);
    EXPECT_EQ(with("child", asked).status, 40);
    const Run both = with("lost", "report_at_exit=1:explain_at_exit=1");
    EXPECT(both.says("born since the process began") && both.says("lost: 1 block, 123 bytes"));
    EXPECT(!with("lost", "report_at_exit=1").says("lost: 1 block"));
    const Run every = with("lost", "report_at_exit=1:explain_at_exit=1:mappings=1");
    const std::size_t left_out = every.text.find("\n\nleft out: ");
    EXPECT(left_out != std::string::npos && every.text.find("left out", left_out + 4) == std::string::npos);
    EXPECT(every.text.find("plumbing=1") == every.text.rfind("plumbing=1"));
    return verdict();
}
