// SPDX-License-Identifier: BSL-1.0
// The words of case.h in terms of <heapmark/heapmark.hpp>. A figure that does not hold prints the survivors, and makes
// the program end with status 1.
#ifndef HEAPMARK_TESTS_MAPPING_HPP
#define HEAPMARK_TESTS_MAPPING_HPP

#include "case_outcome.hpp"

#include <heapmark/heapmark.hpp>

namespace case_mapping {

inline std::uint64_t mismatches_at_mark = 0;
inline std::uint64_t unknown_frees_at_mark = 0;

inline void mark()
{
    const heapmark::Faults faults = heapmark::faults();
    mismatches_at_mark = faults.mismatched_releases;
    unknown_frees_at_mark = faults.unknown_frees;
    // A suite that linked nothing would find no survivors, and be content.
    if (marks.count() == 0 && !heapmark::active()) outcome.check(false, __FILE__, __LINE__, "active()", "yes", "no");
    marks.add(static_cast<std::uint64_t>(heapmark::mark()));
}

inline void check_snapshot(const heapmark::Snapshot& snapshot, std::uint64_t blocks, std::uint64_t bytes,
                           const char* what, const char* file, int line)
{
    if (check_totals({snapshot.size(), snapshot.bytes()}, blocks, bytes, what, file, line)) return;
    std::fflush(stdout);
    heapmark::print(snapshot, stdout);
    std::fflush(stdout);
}

inline heapmark::Generation last_mark() { return heapmark::Generation{marks.at(marks.count())}; }

inline void survivors(std::uint64_t blocks, std::uint64_t bytes, const char* file, int line)
{
    const heapmark::Counts counts = heapmark::counts(last_mark());
    check_snapshot(heapmark::survivors(last_mark()), blocks, bytes, "survivors", file, line);
    check_totals({counts.blocks, counts.bytes}, blocks, bytes, "counts", file, line);
}

inline void generation(unsigned n, std::uint64_t blocks, std::uint64_t bytes, const char* file, int line)
{
    // heapmark may have marked in between, so the range ends before the next mark of ours.
    const heapmark::Generation first{marks.at(n)};
    const heapmark::Snapshot snapshot = n == marks.count()
                                            ? heapmark::survivors(first)
                                            : heapmark::survivors(first, heapmark::Generation{marks.at(n + 1) - 1});
    check_snapshot(snapshot, blocks, bytes, "survivors of one generation", file, line);
}

inline void from(const char* function, std::uint64_t blocks, std::uint64_t bytes, const char* file, int line)
{
    const heapmark::Snapshot all = heapmark::survivors(last_mark());
    const heapmark::Snapshot snapshot = all.filter(heapmark::in_function(function));
    if (check_totals({snapshot.size(), snapshot.bytes()}, blocks, bytes, function, file, line)) return;
    std::fflush(stdout);
    heapmark::print(all, stdout);
    std::fflush(stdout);
}

/// Blocks that nothing leads to, or that something does.
inline void reach(bool lost, std::uint64_t blocks, std::uint64_t bytes, const char* file, int line)
{
    const heapmark::Explanation why = heapmark::explain(heapmark::survivors(last_mark()));
    outcome.check(why.complete(), file, line, "the search for holders", "complete", why.problem().data());
    const heapmark::Snapshot& found = lost ? why.lost() : why.held();
    if (check_totals({found.size(), found.bytes()}, blocks, bytes, lost ? "lost" : "reachable", file, line)) return;
    std::fflush(stdout);
    heapmark::print(why.lost(), stdout);
    heapmark::print(why.held(), stdout);
    std::fflush(stdout);
    for (const heapmark::Block& block : why.held()) {
        const heapmark::Path path = why.path(block.address);
        say("%lu bytes: root of kind %d at %p, %lu steps\n", static_cast<unsigned long>(block.size),
            static_cast<int>(path.root.kind), path.root.address, static_cast<unsigned long>(path.steps.size()));
    }
}

inline void fault_count(std::uint64_t found, std::uint64_t stated, const char* what, const char* file, int line)
{
    check_totals({found, 0}, stated, CASE_ANY, what, file, line);
}

} // namespace case_mapping

#define CASE_MARK() ::case_mapping::mark()
#define CASE_EXPECT_SURVIVORS(count, bytes) ::case_mapping::survivors(count, bytes, __FILE__, __LINE__)
#define CASE_EXPECT_GENERATION(n, count, bytes) ::case_mapping::generation(n, count, bytes, __FILE__, __LINE__)
#define CASE_EXPECT_FROM(func, count, bytes) ::case_mapping::from(func, count, bytes, __FILE__, __LINE__)
#define CASE_EXPECT_LOST(count, bytes) ::case_mapping::reach(true, count, bytes, __FILE__, __LINE__)
#define CASE_EXPECT_REACHABLE(count, bytes) ::case_mapping::reach(false, count, bytes, __FILE__, __LINE__)
#define CASE_EXPECT_MISMATCHES(count)                                                                                  \
    ::case_mapping::fault_count(heapmark::faults().mismatched_releases - ::case_mapping::mismatches_at_mark, count,    \
                                "mismatched releases", __FILE__, __LINE__)
#define CASE_EXPECT_UNKNOWN_FREES(count)                                                                               \
    ::case_mapping::fault_count(heapmark::faults().unknown_frees - ::case_mapping::unknown_frees_at_mark, count,       \
                                "unknown frees", __FILE__, __LINE__)

#endif
