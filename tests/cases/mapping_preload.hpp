// SPDX-License-Identifier: BSL-1.0
// The words of case.h in terms of the C API of a preloaded heapmark, found with dlsym. Which function survivors come
// from is read out of the text report; run with HEAPMARK_OPTIONS=max_groups=0:plumbing=1:color=never.
// Left empty: lost and reachable, mismatches and unknown frees (not in the C API).
#ifndef HEAPMARK_TESTS_MAPPING_PRELOAD_HPP
#define HEAPMARK_TESTS_MAPPING_PRELOAD_HPP

#include "case_outcome.hpp"

#include <heapmark/heapmark.h>

#include <cctype>
#include <cstring>
#include <dlfcn.h>

namespace case_mapping {

template <class Function>
Function* look_up(const char* name)
{
    void* address = dlsym(RTLD_DEFAULT, name);
    if (address == nullptr) {
        say("%s not found: heapmark is not preloaded\n", name);
        _exit(1);
    }
    Function* function = nullptr;
    std::memcpy(&function, &address, sizeof function);
    return function;
}

inline heapmark_generation (*const draw_mark)(const char*) = look_up<heapmark_generation(const char*)>("heapmark_mark");
inline heapmark_totals (*const counts)(heapmark_generation) =
    look_up<heapmark_totals(heapmark_generation)>("heapmark_counts");
inline int (*const print)(heapmark_generation, FILE*) = look_up<int(heapmark_generation, FILE*)>("heapmark_print");
inline int (*const active)() = look_up<int()>("heapmark_active");

/// The report as text. The stream is there before the first mark; its buffer comes from the heap inside
/// heapmark_print and must not count.
class Report {
public:
    Report() : stream_(std::tmpfile())
    {
        if (stream_ == nullptr) _exit(3);
    }
    const char* text(heapmark_generation since)
    {
        const off_t before = lseek(fileno(stream_), 0, SEEK_END); // a forked child may have added to the file
        if (print(since, stream_) != 0 || std::fflush(stream_) != 0) _exit(3);
        const ssize_t length = pread(fileno(stream_), text_, sizeof text_ - 1, before);
        if (length < 0) _exit(3);
        text_[length] = '\0';
        return text_;
    }

private:
    FILE* stream_;
    char text_[1 << 18] = {};
};

inline Report report;

inline void mark()
{
    if (marks.count() == 0 && active() != 1) outcome.check(false, __FILE__, __LINE__, "heapmark_active()", "1", "0");
    marks.add(draw_mark(nullptr));
}

inline heapmark_generation last_mark() { return marks.at(marks.count()); }

inline void survivors(std::uint64_t blocks, std::uint64_t bytes, const char* file, int line)
{
    const heapmark_totals found = counts(last_mark());
    if (!check_totals({found.blocks, found.bytes}, blocks, bytes, "counts", file, line))
        say_text(report.text(last_mark()));
}

inline void generation(unsigned n, std::uint64_t blocks, std::uint64_t bytes, const char* file, int line)
{
    const heapmark_totals from_here = counts(marks.at(n));
    const heapmark_totals later = n == marks.count() ? heapmark_totals{0, 0} : counts(marks.at(n + 1));
    check_totals({from_here.blocks - later.blocks, from_here.bytes - later.bytes}, blocks, bytes,
                 "counts of one generation", file, line);
}

/// Whether a stack line ("   2  Session::Session  file:line") names the function.
inline bool names(const char* line, const char* end, const char* function)
{
    const std::size_t length = std::strlen(function);
    for (const char* at = line; at + length <= end; ++at) {
        if (std::memcmp(at, function, length) != 0) continue;
        const bool begins = at > line && (at[-1] == ' ' || at[-1] == ':');
        const bool ends = at + length == end || (std::isalnum(at[length]) == 0 && at[length] != '_');
        if (begins && ends) return true;
    }
    return false;
}

/// Sums the groups of the report that name the function: "2 blocks, 1.5 KiB  malloc ...", then stack lines, then an
/// empty line. Sizes from 1 KiB on are rounded, so the bytes are known up to `slack`.
struct Summed {
    Found found;
    std::uint64_t slack = 0;
};

inline double without_commas(char* digits)
{
    char* to = digits;
    for (const char* from = digits; *from != '\0'; ++from)
        if (*from != ',') *to++ = *from;
    *to = '\0';
    return std::atof(digits);
}

inline Summed sum_groups(const char* text, const char* function)
{
    Summed sum;
    unsigned long blocks = 0;
    double size = 0;
    char unit[8] = "";
    char unit_here[8] = "";
    bool counted = true; // nothing to count before the first group
    for (const char* line = text; *line != '\0';) {
        const char* end = std::strchr(line, '\n');
        if (end == nullptr) end = line + std::strlen(line);
        unsigned long number = 0;
        char word[8] = "";
        char digits[32] = "";
        if (std::sscanf(line, "%lu %7[blocks], %31[0-9,.] %7s", &number, word, digits, unit_here) == 4) {
            blocks = number;
            size = without_commas(digits);
            std::memcpy(unit, unit_here, sizeof unit);
            counted = false;
        } else if (!counted && *line == ' ' && names(line, end, function)) {
            const std::uint64_t scale = unit[0] == 'K' ? 1024 : unit[0] == 'M' ? 1024 * 1024 : 1;
            sum.found.blocks += blocks;
            sum.found.bytes += static_cast<std::uint64_t>(size * static_cast<double>(scale));
            if (scale > 1) sum.slack += scale / 20 + 1;
            counted = true;
        }
        line = *end == '\n' ? end + 1 : end;
    }
    return sum;
}

inline void from(const char* function, std::uint64_t blocks, std::uint64_t bytes, const char* file, int line)
{
    const char* text = report.text(last_mark());
    Summed sum = sum_groups(text, function);
    const std::uint64_t away = sum.found.bytes > bytes ? sum.found.bytes - bytes : bytes - sum.found.bytes;
    if (bytes != CASE_ANY && away <= sum.slack) sum.found.bytes = bytes;
    if (!check_totals(sum.found, blocks, bytes, function, file, line)) say_text(text);
}

} // namespace case_mapping

#define CASE_EXPECT_LOST(count, bytes) ::case_mapping::outcome.leave_out()
#define CASE_EXPECT_REACHABLE(count, bytes) ::case_mapping::outcome.leave_out()
#define CASE_MARK() ::case_mapping::mark()
#define CASE_EXPECT_SURVIVORS(count, bytes) ::case_mapping::survivors(count, bytes, __FILE__, __LINE__)
#define CASE_EXPECT_GENERATION(n, count, bytes) ::case_mapping::generation(n, count, bytes, __FILE__, __LINE__)
#define CASE_EXPECT_FROM(func, count, bytes) ::case_mapping::from(func, count, bytes, __FILE__, __LINE__)
#define CASE_EXPECT_MISMATCHES(count) ::case_mapping::outcome.leave_out_faults()
#define CASE_EXPECT_UNKNOWN_FREES(count) ::case_mapping::outcome.leave_out_faults()

#endif
