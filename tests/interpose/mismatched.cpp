// SPDX-License-Identifier: BSL-1.0
// Every mismatched pair of the doors is one fault, with both stacks; the block is gone and the heap intact.
#include "doors.hpp"
#include "random_heap.hpp"

#include <heapmark/heapmark.hpp>

#include <cstring>

using namespace doors;
using heapmark::Fault;

namespace {

std::uint64_t expected_mismatches = 0;

RELEASE(release_aligned_otherwise, ::operator delete (block, std::align_val_t{64}))
RELEASE(release_array_aligned_otherwise, ::operator delete[](block, size, std::align_val_t{256}))
RELEASE(release_free_aligned_otherwise, free_aligned_sized(block, 64, size))

void expect_fault(const Obtain& obtain, const Release& release, std::size_t size, std::size_t stated_size,
                  Fault::Mismatch mismatch, std::size_t stated)
{
    const Since since;
    void* block = obtain.call(size);
    const std::size_t usable = malloc_usable_size(block);
    release.call(block, stated_size);
    EXPECT(since.holds(0, 0));

    const heapmark::Faults faults = heapmark::faults();
    EXPECT_EQ(faults.mismatched_releases, ++expected_mismatches);
    EXPECT_EQ(faults.double_frees + faults.unknown_frees, 0U);
    if (!EXPECT_EQ(faults.details.size(), expected_mismatches)) return;
    const Fault& fault = faults.details.back();
    const int failed_before = failed_checks.load();
    EXPECT_EQ(fault.kind, Fault::Kind::mismatched_release);
    EXPECT_EQ(fault.mismatch, mismatch);
    EXPECT_EQ(fault.stated, stated);
    EXPECT_EQ(fault.address, block);
    EXPECT_EQ(fault.thread, heapmark::this_thread());
    EXPECT(std::strcmp(fault.released_by, release.released_by) == 0);
    EXPECT(!fault.stack.empty() && release.code.holds_return_address(fault.stack[0].address()));
    EXPECT_EQ(fault.birth.address, block);
    EXPECT_EQ(fault.birth.size, size);
    EXPECT_EQ(fault.birth.usable_size, usable);
    EXPECT_EQ(fault.birth.api, obtain.api);
    EXPECT_EQ(fault.birth.generation, heapmark::Generation{since.generation()});
    EXPECT(!fault.birth.stack.empty() && obtain.code.holds_return_address(fault.birth.stack[0].address()));
    if (failed_checks.load() != failed_before) dprintf(STDERR_FILENO, "  in %s, %s\n", obtain.name, release.name);
}

void wrong_functions()
{
    for (const Obtain& obtain : obtains)
        for (const Release& release : releases)
            if (obtain.family != release.family) expect_fault(obtain, release, 100, 100, Fault::Mismatch::function, 0);
}

void wrong_sizes()
{
    for (const Obtain& obtain : obtains)
        for (const Release& release : releases)
            if (release.states_size && judge(obtain, release) == Pair::right && expected_mismatches < 250)
                expect_fault(obtain, release, 40, 41, Fault::Mismatch::size, 41);
}

void wrong_alignments()
{
    const Release aligned = {HERE(release_aligned_otherwise), "delete", Family::aligned_single, false, true};
    const Release array = {HERE(release_array_aligned_otherwise), "delete[]", Family::aligned_array, true, true};
    const Release c = {HERE(release_free_aligned_otherwise), "free_aligned_sized", Family::c, true, true};
    for (const Obtain& obtain : obtains) {
        if (obtain.family == Family::aligned_single)
            expect_fault(obtain, aligned, 70, 70, Fault::Mismatch::alignment, 64);
        if (obtain.family == Family::aligned_array)
            expect_fault(obtain, array, 70, 70, Fault::Mismatch::alignment, 256);
        if (obtain.api == heapmark::Api::aligned_alloc || obtain.api == heapmark::Api::malloc)
            expect_fault(obtain, c, 70, 70, Fault::Mismatch::alignment, 64);
    }
}

} // namespace

/// With an argument: only what states sizes and alignments, since only the first 256 details of a process are kept.
int main(int count, char**)
{
    if (count < 2)
        wrong_functions();
    else {
        wrong_sizes();
        wrong_alignments();
    }
    use_heap_at_random(1);
    EXPECT_EQ(heapmark::faults().mismatched_releases, expected_mismatches);
    return verdict();
}
