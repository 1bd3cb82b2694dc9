// SPDX-License-Identifier: BSL-1.0
// What both mappings need around the questions: the marks drawn, a verdict that forked children share, and output that
// allocates nothing, so that asking leaves nothing behind.
#ifndef HEAPMARK_TESTS_CASE_OUTCOME_HPP
#define HEAPMARK_TESTS_CASE_OUTCOME_HPP

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace case_mapping {

/// Blocks and bytes that were found.
struct Found {
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;

    [[nodiscard]] bool is(std::uint64_t stated_blocks, std::uint64_t stated_bytes) const noexcept
    {
        return blocks == stated_blocks && (stated_bytes == CASE_ANY || bytes == stated_bytes);
    }
};

inline void say_text(const char* text)
{
    for (std::size_t left = std::strlen(text); left > 0;) {
        const ssize_t written = write(STDOUT_FILENO, text, left);
        if (written < 0) _exit(3);
        text += written;
        left -= static_cast<std::size_t>(written);
    }
}

__attribute__((format(printf, 1, 2))) inline void say(const char* format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    say_text(line);
}

/// Counts what was asked and what did not hold, in memory that forked children share, and decides the exit status.
/// Static: its destructor runs after those of everything that the case defines, and after exit() in a child too.
class Outcome {
public:
    Outcome()
        : shared_(static_cast<Shared*>(
              mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)))
    {
        if (shared_ == MAP_FAILED) _exit(3);
        parent_ = getpid();
    }
    Outcome(const Outcome&) = delete;
    Outcome& operator=(const Outcome&) = delete;
    ~Outcome()
    {
        if (getpid() != parent_) return;
        if (shared_->left_out != 0)
            say("not checked: %u expectations about lost and reachable blocks, which need a reachability scan\n",
                shared_->left_out.load());
        if (shared_->faults_left_out != 0)
            say("not checked: %u expectations about faults, which the C API does not tell\n",
                shared_->faults_left_out.load());
        say("%u figures checked, %u wrong\n", shared_->checked.load(), shared_->wrong.load());
        if (shared_->wrong != 0 || shared_->checked == 0) _exit(1);
    }

    /// True when the figure holds; otherwise says so, and the caller prints what was found.
    bool check(bool holds, const char* file, int line, const char* what, const char* stated, const char* found)
    {
        ++shared_->checked;
        if (holds) return true;
        ++shared_->wrong;
        say("%s:%d: %s: stated %s, found %s\n", file, line, what, stated, found);
        return false;
    }

    void leave_out() { ++shared_->left_out; }
    void leave_out_faults() { ++shared_->faults_left_out; }

private:
    struct Shared {
        std::atomic<unsigned> checked;
        std::atomic<unsigned> wrong;
        std::atomic<unsigned> left_out;
        std::atomic<unsigned> faults_left_out;
    };
    Shared* shared_;
    pid_t parent_;
};

inline Outcome outcome;

/// True when the totals hold; otherwise says so.
inline bool check_totals(Found found, std::uint64_t blocks, std::uint64_t bytes, const char* what, const char* file,
                         int line)
{
    char stated[64];
    char seen[64];
    if (bytes == CASE_ANY)
        std::snprintf(stated, sizeof stated, "%lu blocks", static_cast<unsigned long>(blocks));
    else
        std::snprintf(stated, sizeof stated, "%lu blocks, %lu bytes", static_cast<unsigned long>(blocks),
                      static_cast<unsigned long>(bytes));
    std::snprintf(seen, sizeof seen, "%lu blocks, %lu bytes", static_cast<unsigned long>(found.blocks),
                  static_cast<unsigned long>(found.bytes));
    return outcome.check(found.is(blocks, bytes), file, line, what, stated, seen);
}

/// The n-th mark of the process, from 1.
class Marks {
public:
    void add(std::uint64_t generation)
    {
        if (count_ == most) std::abort();
        mark_[count_++] = generation;
    }
    [[nodiscard]] std::uint64_t at(unsigned n) const
    {
        if (n == 0 || n > count_) std::abort();
        return mark_[n - 1];
    }
    [[nodiscard]] unsigned count() const noexcept { return count_; }

private:
    static constexpr unsigned most = 64;
    std::uint64_t mark_[most] = {};
    unsigned count_ = 0;
};

inline Marks marks;

} // namespace case_mapping

#endif
