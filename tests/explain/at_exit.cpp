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

struct Tree {
    void* leaf;
};

[[gnu::noinline]] Tree* make_tree()
{
    auto* tree = static_cast<Tree*>(std::malloc(sizeof(Tree) + 1000));
    heapmark::escape(tree);
    return tree;
}

[[gnu::noinline]] void* make_leaf()
{
    void* leaf = std::malloc(2000);
    heapmark::escape(leaf);
    return leaf;
}

/// A lost block and one that only it holds, from functions that have nothing but the caller in common.
[[gnu::noinline]] void lose_tree()
{
    Tree* tree = make_tree();
    tree->leaf = make_leaf();
}

int play(const std::string& part)
{
    std::printf("said by the program");
    if (part == "leaves") _exit(6);
    if (part == "held") kept = std::malloc(77);
    heapmark::escape(&kept);
    if (part == "lost" || part == "child") lose();
    if (part == "tree") lose_tree();
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

Run with(const char* part, const std::string& options) { return run("/proc/self/exe", part, options.c_str()); }

std::string write_file(const std::string& text)
{
    static int number = 0;
    const std::string path = "/tmp/heapmark_at_exit." + std::to_string(getpid()) + "." + std::to_string(++number);
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr || std::fputs(text.c_str(), file) < 0 || std::fclose(file) != 0) std::abort();
    return path;
}

/// What is suppressed is neither told nor judged, but counted.
void check_suppressions()
{
    const std::string asked = "explain_at_exit=1:lost_exit_code=40:suppressions=";
    for (const char* form :
         {"# known\nfunction:*lose*", "leak:lose", "{\nx\nMemcheck:Leak\nfun:malloc\nfun:*lose*\n}"}) {
        const std::string file = write_file(form);
        for (const std::string& report : {asked, "report_at_exit=1:" + asked}) {
            const Run known = with("lost", report + file);
            EXPECT_EQ(known.status, 3);
            EXPECT(known.says("suppressed: 1 block, 123 bytes"));
            EXPECT(known.says("no survivors to explain") && !known.says("lost: 1") && !known.says("1 survivor"));
            EXPECT(known.says((file + ":").c_str()) && !known.says("matched nothing"));
        }
        const Run survivors = with("lost", "report_at_exit=1:suppressions=" + file);
        EXPECT(survivors.says("no survivors since") && survivors.says("suppressed: 1 block, 123 bytes"));
        unlink(file.c_str());
    }
    const std::string known = write_file("function:*lose*\n");
    EXPECT(!with("clean", "report_at_exit=0:suppressions=" + known).says("heapmark"));
    const std::string other = write_file("leak:no_such_thing\n");
    const Run unused = with("lost", asked + other);
    EXPECT_EQ(unused.status, 40);
    EXPECT(unused.says(": \"no_such_thing\" matched nothing; remove it") && !unused.says("suppressed:"));
    const Run child = with("child", asked + other); // it says nothing of them, since it is a part of the program
    EXPECT(child.text.find("matched nothing") == child.text.rfind("matched nothing"));
    EXPECT_EQ(with("lost", asked + other + "," + known).status, 3);

    // What only a known leak leads to is known with it, and not the other way round.
    const std::string tree = write_file("site:*make_tree\n");
    const Run whole = with("tree", asked + tree);
    EXPECT_EQ(whole.status, 3);
    EXPECT(whole.says("suppressed: 2 blocks, ") && whole.says("no survivors to explain"));
    const std::string leaf = write_file("site:*make_leaf\n");
    const Run part = with("tree", asked + leaf);
    EXPECT_EQ(part.status, 40);
    EXPECT(part.says("suppressed: 1 block, ") && part.says("lost: 1 block, "));

    // Valgrind's entries of held memory hide no lost one.
    const std::string reachable = write_file("{\nx\nMemcheck:Leak\nmatch-leak-kinds: reachable\nfun:malloc\n...\n}\n");
    const Run held_only = with("lost", asked + reachable);
    EXPECT_EQ(held_only.status, 40);
    EXPECT(!held_only.says("matched nothing"));

    for (const std::string& wrong : {std::string("/no/such/file"), write_file("what is this\n")}) {
        const Run refused = with("lost", asked + wrong);
        EXPECT_EQ(refused.status, 2);
        EXPECT(refused.says(wrong.c_str()) && refused.says("check suppressions") && !refused.says("said by"));
        unlink(wrong.c_str());
    }
    for (const std::string& file : {known, other, tree, leaf, reachable}) unlink(file.c_str());
}

} // namespace

int main(int count, char** arguments)
{
    if (count > 1) return play(arguments[1]);
    check_suppressions();
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
    const Run vain = with("clean", asked + std::string(":policy=growth:sarif=x:color=never"));
    EXPECT_EQ(vain.status, 3);
    EXPECT(vain.says("only test adapters follow it and none ran here: policy, sarif\n"));
    EXPECT(!clean.says("without effect") && !clean.says("no effect"));
    EXPECT(with("clean", "lost_exit_code=3").says("lost_exit_code in HEAPMARK_OPTIONS has no effect without explain"));
    EXPECT(with("clean", "output=x").says("output in HEAPMARK_OPTIONS has no effect without report_at_exit=1 or"));
    const Run every = with("lost", "report_at_exit=1:explain_at_exit=1:mappings=1");
    const std::size_t left_out = every.text.find("\n\nleft out: ");
    EXPECT(left_out != std::string::npos && every.text.find("left out", left_out + 4) == std::string::npos);
    EXPECT(every.text.find("plumbing=1") == every.text.rfind("plumbing=1"));
    return verdict();
}
