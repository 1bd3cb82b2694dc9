// SPDX-License-Identifier: BSL-1.0
// Asks thread after thread to stop, until a look at the list of threads shows none that was not asked.
#include "platform/stop_world.hpp"

#include "platform/monotonic_clock.hpp"
#include "platform/raw_syscall.hpp"
#include "platform/raw_write.hpp"
#include "platform/stop_signal.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>

namespace heapmark::platform {
namespace {

constexpr std::size_t directory_bytes = std::size_t{256} << 10; ///< some 8,000 threads in one look
constexpr long kernel_sigset_bytes = 8;
constexpr std::uint64_t patience_ns = 5'000'000; ///< until a thread is suspected to be gone

/// The kernel's struct linux_dirent64.
struct DirectoryEntry {
    std::uint64_t inode;
    std::int64_t next;
    std::uint16_t bytes;
    std::uint8_t type;
    char name[1];
};

int this_system_id() noexcept { return static_cast<int>(raw_syscall(SYS_gettid)); }

/// Reads a file of /proc/self/task/<id>/ into `text`. Returns its length, 0 on failure.
std::size_t read_task_file(int system_id, std::string_view file, char* text, std::size_t capacity) noexcept
{
    Line path;
    path << "/proc/self/task/" << static_cast<std::uint64_t>(system_id) << "/" << file << std::string_view("\0", 1);
    const long descriptor =
        raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path.text().data()), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return 0;
    const long count = raw_syscall(SYS_read, descriptor, reinterpret_cast<long>(text), static_cast<long>(capacity));
    raw_syscall(SYS_close, descriptor);
    return count > 0 ? static_cast<std::size_t>(count) : 0;
}

/// Whether the thread has ended, or is the first one, which stays in the list after pthread_exit.
bool is_gone(int system_id) noexcept
{
    if (raw_syscall(SYS_tgkill, raw_syscall(SYS_getpid), system_id, 0) == -ESRCH) return true;
    char text[512]; // proc(5), stat: "id (name) state ..."
    const std::string_view stat(text, read_task_file(system_id, "stat", text, sizeof text));
    const std::size_t after_name = stat.rfind(')');
    if (after_name == std::string_view::npos || after_name + 2 >= stat.size()) return false;
    return stat[after_name + 2] == 'Z' || stat[after_name + 2] == 'X';
}

} // namespace

StoppedWorld::StoppedWorld(std::uint64_t limit_ns) noexcept
{
    // A handler in this thread could ask for a lock that a stopped thread holds. Faults must still come through.
    const std::uint64_t all_but_faults = ~(1ULL << (SIGSEGV - 1) | 1ULL << (SIGBUS - 1));
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&all_but_faults),
                reinterpret_cast<long>(&signals_before_), kernel_sigset_bytes);

    const std::uint64_t deadline_ns = monotonic_ns() + limit_ns;
    if (!directory_.resize(directory_bytes)) {
        problem_ = "no memory for the list of threads";
        return;
    }
    if (!begin_stop_round(limit_ns)) {
        problem_ = "no signal to stop threads with could be set up";
        return;
    }
    while (ask_new_threads())
        if (!await_answers(deadline_ns)) break;
    take_answers();
    list_unstopped();
}

StoppedWorld::~StoppedWorld()
{
    const bool all_answered =
        std::none_of(asked_.begin(), asked_.end(), [](const Asked& a) { return a.state == Asked::State::waiting; });
    end_stop_round(all_answered);
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&signals_before_), 0, kernel_sigset_bytes);
}

/// One look at the list of threads. Returns whether one was asked that had not been.
bool StoppedWorld::ask_new_threads() noexcept
{
    const std::size_t known = asked_.size();
    const long task = raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/task"),
                                  O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (task < 0) {
        problem_ = "the list of threads could not be read (/proc/self/task)";
        return false;
    }
    const int own = this_system_id();
    for (;;) {
        const long count = raw_syscall(SYS_getdents64, task, reinterpret_cast<long>(directory_.data()),
                                       static_cast<long>(directory_bytes));
        if (count <= 0) break;
        for (long at = 0; at < count;) {
            const auto* entry = reinterpret_cast<const DirectoryEntry*>(directory_.data() + at);
            at += entry->bytes;
            int system_id = 0;
            const auto parsed = std::from_chars(entry->name, entry->name + std::strlen(entry->name), system_id);
            if (parsed.ec != std::errc{} || system_id == own) continue; // "." and ".."
            const auto asked = [&](const Asked& a) { return a.system_id == system_id; };
            if (std::none_of(asked_.begin(), asked_.end(), asked)) ask(system_id);
        }
    }
    raw_syscall(SYS_close, task);
    return asked_.size() != known;
}

void StoppedWorld::ask(int system_id) noexcept
{
    AskResult result = ask_to_stop(system_id);
    for (int tries = 0; result == AskResult::busy && tries < 100; ++tries) {
        take_answers();
        await_answer(answers_taken_, 1'000'000);
        result = ask_to_stop(system_id);
    }
    if (result == AskResult::gone) return;
    if (result == AskResult::refused) {
        problem_ = "the system does not let signals be sent to threads";
        return;
    }
    if (!asked_.push_back({system_id, Asked::State::waiting})) problem_ = "no memory for the list of threads";
}

/// False when the time is over.
bool StoppedWorld::await_answers(std::uint64_t deadline_ns) noexcept
{
    for (;;) {
        const std::uint32_t begun = answers_begun();
        take_answers();
        const auto waiting = [](const Asked& a) { return a.state == Asked::State::waiting; };
        if (std::none_of(asked_.begin(), asked_.end(), waiting)) return true;
        const std::uint64_t now = monotonic_ns();
        if (now >= deadline_ns) return false;
        await_answer(begun, std::min(patience_ns, deadline_ns - now));
        if (answers_begun() == begun) drop_the_gone();
    }
}

void StoppedWorld::take_answers() noexcept
{
    while (answers_taken_ < answers_begun()) {
        const StopAnswer* answer = stop_answer(answers_taken_);
        if (answer == nullptr) return; // being written
        ++answers_taken_;
        const int system_id = answer->context.system_id;
        if (!threads_.push_back(answer->context)) problem_ = "no memory for the list of threads";
        // A thread may stop for a signal of an earlier round, before it is asked in this one.
        Asked* known =
            std::find_if(asked_.begin(), asked_.end(), [&](const Asked& a) { return a.system_id == system_id; });
        if (known != asked_.end())
            known->state = Asked::State::stopped;
        else if (!asked_.push_back({system_id, Asked::State::stopped}))
            problem_ = "no memory for the list of threads";
    }
}

void StoppedWorld::drop_the_gone() noexcept
{
    for (Asked& asked : asked_)
        if (asked.state == Asked::State::waiting && is_gone(asked.system_id)) asked.state = Asked::State::gone;
}

void StoppedWorld::list_unstopped() noexcept
{
    for (const Asked& asked : asked_) {
        if (asked.state != Asked::State::waiting) continue;
        UnstoppedThread thread{asked.system_id, {}};
        const std::size_t length = read_task_file(asked.system_id, "comm", thread.name, sizeof thread.name - 1);
        thread.name[length] = '\0';
        if (length > 0 && thread.name[length - 1] == '\n') thread.name[length - 1] = '\0';
        if (!unstopped_.push_back(thread)) problem_ = "no memory for the list of threads";
    }
}

} // namespace heapmark::platform
