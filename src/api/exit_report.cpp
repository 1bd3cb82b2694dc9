// SPDX-License-Identifier: BSL-1.0
// What HEAPMARK_OPTIONS asks for at the end of the process, and at a fault.
#include "analyse/accounts.hpp"
#include "api/color.hpp"
#include "api/explain_printing.hpp"
#include "api/faults.hpp"
#include "api/meant.hpp"
#include "platform/options.hpp"
#include "platform/process_end.hpp"
#include "platform/thread_state.hpp"
#include "report/accounting.hpp"
#include "report/left_out.hpp"
#include "report/text.hpp"
#include "report/words.hpp"
#include "symbolise/symbolise.hpp"

#include <heapmark/mappings.hpp>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <string>
#include <unistd.h>

extern "C" const char heapmark_exit_report_anchor;
extern "C" const char heapmark_exit_report_anchor = 0; ///< the overrides name it, so that it is linked with them

namespace heapmark {

namespace {

constinit bool is_forked_child = false;
constinit char start_folder[PATH_MAX] =
    {}; ///< what a relative path of the report is relative to, wherever the program goes
constinit Generation first_generation{}; ///< of this process: a forked child does not answer for its parent's blocks

constinit Meant* meant = nullptr; ///< for the whole process; nullptr: nothing is suppressed

/// Set when the process begins, since it may leave in a signal handler.
constinit pid_t first_process = 0;
constinit char first_output_path[PATH_MAX] = {};

void in_forked_child()
{
    is_forked_child = true;
    first_generation = mark("fork");
}

/// The option's path, %p being the process id. A forked child of a process that writes FILE writes FILE.<pid>.
std::string output_path(std::string_view pattern)
{
    const std::string pid = std::to_string(getpid());
    std::string path(pattern);
    const std::size_t mark = path.find("%p");
    if (mark != std::string::npos)
        path.replace(mark, 2, pid);
    else if (is_forked_child)
        path += "." + pid;
    return path.front() == '/' || start_folder[0] == '\0' ? path : std::string(start_folder) + "/" + path;
}

int open_output(const char* path) { return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666); }

void write_out(const std::string& text)
{
    const std::string_view pattern = platform::options().output;
    int descriptor = STDERR_FILENO;
    std::string path;
    if (!pattern.empty()) {
        path = output_path(pattern);
        descriptor = open_output(path.c_str());
    }
    const int error = descriptor < 0 ? errno : platform::write_all(descriptor, text);
    if (error != 0 && !pattern.empty()) {
        platform::Line line;
        line << "heapmark: the report at exit could not be written to " << path << ": " << std::strerror(error)
             << "; check output in HEAPMARK_OPTIONS\n";
        platform::write_all(STDERR_FILENO, line.text());
    }
    if (!pattern.empty() && descriptor >= 0) close(descriptor);
}

bool wants_color(const TextOptions& options)
{
    return wants_color(options.color, platform::options().output.empty() ? STDERR_FILENO : -1);
}

/// 0: the program's own. What could not be checked is neither clean nor lost.
int status_after(const Explanation& why)
{
    const auto code = static_cast<int>(platform::options().lost_exit_code);
    if (code == 0 || (why.complete() && why.lost().empty())) return 0;
    return why.complete() ? code : code + 1;
}

/// A line for options that are given and followed by nobody; "" for none.
std::string options_without_effect()
{
    if (platform::tests_are_judged) return {};
    const platform::Options& given = platform::options();
    const platform::Options unset;
    std::string keys;
    for (const auto& [key, is_given] : {std::pair{"policy", given.policy != unset.policy},
                                        {"baseline", !given.baseline.empty()},
                                        {"update_baseline", given.update_baseline != unset.update_baseline},
                                        {"repeats", given.repeats != unset.repeats},
                                        {"github", given.github != unset.github},
                                        {"sarif", !given.sarif.empty()},
                                        {"junit", !given.junit.empty()}})
        if (is_given) keys += (keys.empty() ? "" : ", ") + std::string(key);
    if (keys.empty()) return {};
    return "without effect in HEAPMARK_OPTIONS, since only test adapters follow it and none ran here: " + keys + "\n";
}

/// The same of options that need another one, at the start: there may be no report.
void tell_of_missing_options()
{
    const platform::Options& given = platform::options();
    const auto tell = [](std::string_view key, std::string_view needed) {
        platform::Line line;
        line << "heapmark: " << key << " in HEAPMARK_OPTIONS has no effect without " << needed << "\n";
        platform::write_all(STDERR_FILENO, line.text());
    };
    if (given.lost_exit_code != 0 && given.explain_at_exit == 0) tell("lost_exit_code", "explain_at_exit=1");
    if (!given.output.empty() && given.report_at_exit == 0 && given.explain_at_exit == 0 && given.abort_on_fault == 0)
        tell("output", "report_at_exit=1 or explain_at_exit=1");
}

std::string accounting_in_words(const Accounting& accounting, std::size_t most_rows)
{
    analyse::Names& names = symbolise::process_names();
    return report::accounting_text(accounting, most_rows, names) + "\n" +
           report::module_table(analyse::by_module(accounting, names), AccountingForm::text);
}

/// A blank line follows a part of more than one line.
struct Parts {
    std::string text;
    bool gap = false;

    void add(const std::string& part)
    {
        if (part.empty()) return;
        text += (gap ? "\n" : "") + part;
        gap = part.find('\n') + 1 != part.size();
    }
};

Snapshot still_mapped()
{
    const Snapshot all = mapped(first_generation);
    return meant != nullptr ? meant->without_matched(all) : all;
}

/// Apart from report_at_exit(), so that its frame comes to lie where that has cleared: what ended functions have left in
/// the unused parts of a frame would seem to hold blocks.
[[gnu::noinline]] int write_report()
{
    const platform::Guard guard;
    int status = 0;
    try {
        const TextOptions options;
        const bool color = wants_color(options);
        analyse::Names& names = symbolise::process_names();
        const Snapshot all = survivors(first_generation);
        Snapshot left =
            options.plumbing ? all : all.filter([](const Block& block) { return !is_kept_by_c_library(block); });
        const Counts of_c_library{all.size() - left.size(), all.bytes() - left.bytes()};
        Explanation why;
        if (platform::options().explain_at_exit != 0) why = explain(left);
        if (meant != nullptr) {
            const Snapshot rest = meant->without_matched(left, why);
            if (rest.size() != left.size() && platform::options().explain_at_exit != 0) why = explain(rest);
            left = rest;
        }
        Parts parts;
        report::LeftOut left_out;
        parts.add("heapmark: process " + std::to_string(getpid()) + " (" + program_invocation_short_name + ") ended\n");
        if (platform::options().report_at_exit != 0) {
            parts.add(report::survivors_part(left, options, color, names, left_out));
            if (mappings_recorded())
                parts.add("memory that is still mapped:\n" +
                          report::survivors_part(still_mapped(), options, color, names, left_out));
            if (platform::options().accounting != 0) parts.add(accounting_in_words(accounting(), options.max_groups));
        }
        if (platform::options().explain_at_exit != 0) {
            parts.add(explanation_in_words(why, options, color, left_out));
            status = status_after(why);
        }
        if (!is_forked_child) parts.add(options_without_effect());
        // A forked child answers for a part of the program.
        if (meant != nullptr) parts.add(meant->in_words(!is_forked_child, left.size()));
        if (of_c_library.blocks != 0)
            left_out.add(report::count_of(of_c_library.blocks, "block") + " (" +
                             report::bytes_in_words(of_c_library.bytes) +
                             ") of the C library and of libraries' constructors",
                         "plumbing=1");
        parts.add(report::faults_part(faults(), options, color, names, left_out));
        left_out.append_to(parts.text, report::Paint(color));
        write_out(parts.text);
    } catch (const std::exception& exception) {
        platform::Line line;
        line << "heapmark: no report at exit: " << exception.what() << "\n";
        platform::write_all(STDERR_FILENO, line.text());
    }
    return status;
}

/// Not of forked children, whose custom it is to leave so, nor a report in place of the line: it is a signal handler as
/// often as not, which may have come in the middle of anything.
void tell_of_leaving(const char* by) noexcept
{
    if (getpid() != first_process) return;
    const int saved_errno = errno;
    platform::Line line;
    line << "heapmark: process " << static_cast<std::uint64_t>(first_process) << " (" << program_invocation_short_name
         << ") ended by " << by << ", so there is no report; "
         << (platform::options().trace.empty() ? "heapmark run --trace FILE PROGRAM keeps what it allocates and frees"
                                               : "heapmark match prints what leaked by its trace")
         << "\n";
    const bool to_file = first_output_path[0] != '\0';
    const int descriptor = to_file ? open_output(first_output_path) : STDERR_FILENO;
    if (descriptor >= 0) platform::write_all(descriptor, line.text());
    if (to_file && descriptor >= 0) close(descriptor);
    errno = saved_errno;
}

void report_at_exit()
{
    platform::at_process_leave = nullptr;
    const int saved_errno = errno;
    wipe_dead_stack();
    const int status = write_report();
    errno = saved_errno;
    if (status == 0) return;
    std::fflush(nullptr); // the C library does so only after all handlers
    _exit(status);
}

void abort_on_fault(const record::FaultDetail& detail)
{
    {
        const platform::Guard guard;
        Faults only;
        only.mismatched_releases = detail.kind == record::FaultKind::mismatched_release ? 1 : 0;
        only.double_frees = detail.kind == record::FaultKind::double_free ? 1 : 0;
        only.unknown_frees = detail.kind == record::FaultKind::unknown_free ? 1 : 0;
        only.details.push_back(fault_of(detail));
        const TextOptions options;
        write_out(report::faults_text(only, options, wants_color(options), symbolise::process_names()));
    }
    std::abort();
}

/// Now, since the program may go to another folder, and a mistake is to be told before anything runs.
void read_suppressions()
{
    const platform::Options& given = platform::options();
    if (given.suppressions.empty()) return;
    meant = new Meant;
    try {
        meant->read(given.suppressions, given.explain_at_exit == 0);
    } catch (const std::exception& exception) {
        platform::Line line;
        line << "heapmark: " << exception.what() << "; check suppressions in HEAPMARK_OPTIONS\n";
        platform::write_all(STDERR_FILENO, line.text());
        _exit(2);
    }
}

// After the constructor that reads HEAPMARK_OPTIONS.
[[gnu::constructor(102)]] void follow_options()
{
    tell_of_missing_options();
    if (platform::options().abort_on_fault != 0)
        record::fault_listener.store(abort_on_fault, std::memory_order_release);
    if (platform::options().report_at_exit == 0 && platform::options().explain_at_exit == 0) return;
    if (platform::options().explain_at_exit != 0) clear_new_blocks();
    const platform::Guard guard;
    if (getcwd(start_folder, sizeof start_folder) == nullptr) start_folder[0] = '\0';
    first_process = getpid();
    read_suppressions();
    if (!platform::options().output.empty()) {
        const std::string path = output_path(platform::options().output);
        if (path.size() < sizeof first_output_path) path.copy(first_output_path, path.size());
    }
    platform::at_process_end = report_at_exit;
    platform::at_process_leave = tell_of_leaving;
    pthread_atfork(nullptr, nullptr, in_forked_child);
}

} // namespace

} // namespace heapmark
