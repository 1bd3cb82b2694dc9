// SPDX-License-Identifier: BSL-1.0
// Accounting per call site: what each caller has allocated and freed, kept up to date while the program runs. Included
// by heapmark.hpp; started by HEAPMARK_OPTIONS=accounting=callers (or stacks) or by a call.
//
//     heapmark::start_accounting();
//     const heapmark::Accounting before = heapmark::accounting();
//     serve_some_requests();
//     std::cout << heapmark::accounting(before);
//
// Bytes are usable ones: what the allocator sets aside, as malloc_usable_size tells. A realloc is a free, booked on the
// caller that allocated, and an allocation, booked on the one that called realloc.
#ifndef HEAPMARK_ACCOUNTING_HPP
#define HEAPMARK_ACCOUNTING_HPP

#include <heapmark/heapmark.hpp>

namespace heapmark {

/// What accounts are kept for.
enum class AccountingKey : std::uint8_t {
    none,    ///< accounting has not been started
    callers, ///< the function call that called the allocation function
    stacks   ///< the whole call stack
};

/// The columns of the table.
struct AccountFigures {
    std::uint64_t total_bytes = 0; ///< allocated, freed or not
    std::uint64_t slack_bytes = 0; ///< of these, what nobody asked for: usable minus requested. Never goes down
    std::int64_t net_bytes = 0;    ///< allocated and not freed. Less than 0 in a difference where more was freed
    std::uint64_t allocations = 0;
    std::uint64_t frees = 0; ///< of what was allocated here, by whomever
    /// The most of net_bytes at any time since accounting began, in a difference too. Exact where one thread allocated and
    /// freed. Where n threads did, it is wrong by less than n times the greater of 16 KiB and 1/64 of it; where the figures
    /// of several accounts were added up, it is their sum, which may be more than there ever was at one time.
    std::uint64_t peak_bytes = 0;

    AccountFigures& operator+=(const AccountFigures& more) noexcept
    {
        total_bytes += more.total_bytes;
        slack_bytes += more.slack_bytes;
        net_bytes += more.net_bytes;
        allocations += more.allocations;
        frees += more.frees;
        peak_bytes += more.peak_bytes;
        return *this;
    }
};

/// One caller, or one call stack.
struct Account : AccountFigures {
    heapmark::Stack
        stack; ///< for `callers` one frame: the return address of the call. Empty where it could not be kept

    [[nodiscard]] Frame caller() const noexcept { return stack.empty() ? Frame{} : stack[0]; }
};

/// What one program or shared library has allocated: the sum of its callers.
struct ModuleAccount : AccountFigures {
    std::string_view module; ///< path, also after dlclose; "" for what belongs to none. Valid until the process ends
    std::uint64_t callers = 0;
};

/// A reading. Shape: a value.
struct Accounting {
    AccountingKey key = AccountingKey::none;
    std::uint64_t total_bytes = 0; ///< these five: the sums of the rows'
    std::uint64_t slack_bytes = 0;
    std::int64_t net_bytes = 0;
    std::uint64_t allocations = 0;
    std::uint64_t frees = 0;
    std::uint64_t callers = 0;                ///< rows of callers, or stacks, that are known
    std::uint64_t unrecorded_callers = 0;     ///< allocations whose caller could not be kept: the table was full
    std::uint64_t unrecorded_allocations = 0; ///< that are in no row: the allocation map could not grow
    std::uint64_t unknown_frees = 0;          ///< of addresses that heapmark never saw born
    std::vector<Account> rows;                ///< most net bytes first
};

/// Accounts what is allocated from now on, in all threads: what was allocated before is left out when it is freed too.
/// Ignored blocks are accounted as all others. It starts a generation, which is returned: all that is born in it or later
/// is accounted.
/// Errors: once it has been started it stays on, and the first key stays; then the newest generation is returned, as it is
/// where there is no memory to start it, which the key of accounting() tells.
/// Threads: any. Heap path: allocates nothing. Cost: from now on 3 to 4 ns for an allocation and its free.
Generation start_accounting(AccountingKey key = AccountingKey::callers) noexcept;

/// What has been accounted since the start; empty, with the key `none`, when accounting has not been started.
/// A forked child goes on from its parent's figures.
/// Threads: any, at any time; other threads go on meanwhile, and each operation of theirs may or may not be in it, in part.
/// Exact when they do not allocate.
/// Heap path: allocates, so not in signal handlers. Throws std::bad_alloc.
/// Cost: some nanoseconds for each pair of a thread and a caller.
[[nodiscard]] Accounting accounting();

/// The same less an earlier reading: what happened since. Accounts with which nothing happened have no row.
[[nodiscard]] Accounting accounting(const Accounting& since);

/// The rows of each module added up, most net bytes first: the module of the caller or, for the key `stacks`, of the
/// innermost frame that is not the allocator's, heapmark's or the C++ library's, as in group_by(by_module).
[[nodiscard]] std::vector<ModuleAccount> accounting_by_module(const Accounting& accounting);

/// How it is written.
enum class AccountingForm : std::uint8_t {
    text, ///< aligned columns for people
    tsv,  ///< a heading line, then a line a row; fields are separated by tabs, and have none in them
    json  ///< an object for the header, an array of objects for a table
};

/// The counters, one a line. Errors: sets the stream's state as any insertion does.
void write_header(std::ostream& out, const Accounting& accounting, AccountingForm form = AccountingForm::text);

/// A line an account, in the order of the rows: "total slack net alloc/free caller+0xoffset module" in the text form, where
/// the offset is that of the return address in the function; the other forms have the peak, file and line too.
/// `most_rows`: 0 for all; the text form says how many more there are.
void write_table(std::ostream& out, const Accounting& accounting, AccountingForm form = AccountingForm::text,
                 std::size_t most_rows = 0);

/// A line a module.
void write_table(std::ostream& out, const std::vector<ModuleAccount>& modules,
                 AccountingForm form = AccountingForm::text);

/// Header, empty line, table, as text.
std::ostream& operator<<(std::ostream& out, const Accounting& accounting);
/// The same. Returns 0 or an errno value.
int print(const Accounting& accounting, std::FILE* out);

} // namespace heapmark

#endif
