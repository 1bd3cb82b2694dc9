// SPDX-License-Identifier: BSL-1.0
// Double frees, and frees of what was never a block: counted once, told with stacks, and the program goes on.
#include "doors.hpp"
#include "random_heap.hpp"

#include <heapmark/heapmark.hpp>

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

using namespace doors;
using heapmark::Fault;

namespace {

struct Expected {
    std::uint64_t double_frees = 0;
    std::uint64_t unknown_frees = 0;
    std::uint64_t mismatched = 0;
} expected;

RELEASE(guilty_free, free(block))
OBTAIN(first_birth, malloc(size))

constexpr Code guilty_free_code = {__start_guilty_free, __stop_guilty_free};
constexpr Code first_birth_code = {__start_first_birth, __stop_first_birth};

Fault newest_fault()
{
    const heapmark::Faults faults = heapmark::faults();
    EXPECT_EQ(faults.double_frees, expected.double_frees);
    EXPECT_EQ(faults.unknown_frees, expected.unknown_frees);
    EXPECT_EQ(faults.mismatched_releases, expected.mismatched);
    if (!EXPECT_EQ(faults.details.size(), expected.double_frees + expected.unknown_frees + expected.mismatched))
        _exit(1);
    return faults.details.back();
}

Fault unknown_free_of(void* address, const Release& release)
{
    errno = 4321;
    release.call(address, 8);
    EXPECT_EQ(errno, 4321);
    ++expected.unknown_frees;
    const Fault fault = newest_fault();
    EXPECT_EQ(fault.kind, Fault::Kind::unknown_free);
    EXPECT_EQ(fault.mismatch, Fault::Mismatch::none);
    EXPECT_EQ(fault.address, address);
    EXPECT(std::strcmp(fault.released_by, release.released_by) == 0);
    EXPECT(!fault.stack.empty() && release.code.holds_return_address(fault.stack[0].address()));
    return fault;
}

void double_frees()
{
    for (const Obtain& obtain : obtains)
        for (const Release& release : releases) {
            if (judge(obtain, release) != Pair::right) continue;
            const Since since;
            void* block = obtain.call(90);
            release.call(block, 90);
            errno = 4321;
            release.call(opaque(block), 90);
            EXPECT_EQ(errno, 4321);
            ++expected.double_frees;
            EXPECT(since.holds(0, 0));
            const Fault fault = newest_fault();
            EXPECT_EQ(fault.kind, Fault::Kind::double_free);
            EXPECT_EQ(fault.address, block);
            EXPECT(std::strcmp(fault.released_by, release.released_by) == 0);
            EXPECT(!fault.stack.empty() && release.code.holds_return_address(fault.stack[0].address()));
            EXPECT_EQ(fault.birth.address, block);
            EXPECT_EQ(fault.birth.size, 90U);
            EXPECT_EQ(fault.birth.api, obtain.api);
            EXPECT(!fault.birth.stack.empty() && obtain.code.holds_return_address(fault.birth.stack[0].address()));
        }
    void* block = first_birth(200'000); // unmapped at the first release
    guilty_free(block, 0);
    guilty_free(block, 0);
    guilty_free(block, 0); // and each more is one more
    expected.double_frees += 2;
    EXPECT_EQ(newest_fault().birth.size, 200'000U);
}

/// The words beside the tombstone belong to other blocks by now: what is told of the birth may be less, never wrong.
void double_free_long_after()
{
    auto* block = static_cast<char*>(first_birth(2000));
    void* wall = malloc(3000);
    guilty_free(block, 0);
    void* cover = malloc(48); // cut from the front of the place: other blocks begin where the sizes were
    void* more[20];
    for (void*& one : more) one = malloc(48);
    for (void* one : more) free(one);
    free(cover);
    free(wall);
    const heapmark::Faults before = heapmark::faults();
    guilty_free(block, 0);
    const heapmark::Faults after = heapmark::faults();
    EXPECT_EQ(after.double_frees + after.unknown_frees, before.double_frees + before.unknown_frees + 1);
    expected.double_frees = after.double_frees;
    expected.unknown_frees = after.unknown_frees;
    const Fault fault = newest_fault();
    EXPECT(fault.birth.address == nullptr || fault.birth.size == 2000 || fault.birth.size == 48 ||
           fault.birth.size == 0);
}

char global[64];
alignas(16) char aligned_global[64];

void never_blocks()
{
    alignas(16) char local[64] = {};
    for (const Release& release : releases) {
        unknown_free_of(opaque(local + 16), release);
        unknown_free_of(opaque(local + 1), release);
        unknown_free_of(opaque(global), release);
        unknown_free_of(opaque(aligned_global), release);
        unknown_free_of(reinterpret_cast<void*>(opaque(std::size_t{8})), release); // NOLINT: a wild pointer
    }
    const Release& release = releases[0];
    unknown_free_of(reinterpret_cast<void*>(&never_blocks), release);                               // code
    unknown_free_of(reinterpret_cast<void*>(opaque(std::size_t{0xDEAD'BEEF'DEAD'BEE0U})), release); // NOLINT
    unknown_free_of(reinterpret_cast<void*>(opaque(std::size_t{0x7FFF'FFFF'FFF0U})), release);      // NOLINT
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unknown_free_of(page, release);
    munmap(page, 4096);
    unknown_free_of(opaque(page), release);
}

void inside_blocks()
{
    for (const std::size_t size : std::initializer_list<std::size_t>{24, 40, 100, 5000, 300'000}) {
        const Since since;
        auto* block = static_cast<char*>(first_birth(size));
        std::memset(block, 0x11, size);
        for (const std::size_t offset : {std::size_t{1}, std::size_t{8}, std::size_t{16}, size / 2, size - 1}) {
            const Fault fault = unknown_free_of(opaque(block + offset), releases[0]);
            EXPECT_EQ(fault.birth.address, static_cast<void*>(block));
            EXPECT_EQ(fault.birth.size, size);
            EXPECT(!fault.birth.stack.empty() && first_birth_code.holds_return_address(fault.birth.stack[0].address()));
        }
        EXPECT(since.holds(1, size));
        free(block);
        EXPECT(since.holds(0, 0));
    }
}

void wrong_reallocs()
{
    const Since since;
    void* block = first_birth(100);
    guilty_free(block, 0);
    void* fresh = opaque(realloc(opaque(block), 60)); // the program gets memory all the same
    ++expected.double_frees;
    Fault fault = newest_fault();
    EXPECT_EQ(fault.kind, Fault::Kind::double_free);
    EXPECT(std::strcmp(fault.released_by, "realloc") == 0);
    EXPECT(since.holds(1, 60));
    std::memset(fresh, 1, 60);
    free(fresh);

    void* from_new = ::operator new(100);
    std::memset(from_new, 0x77, 100);
    auto* resized = static_cast<unsigned char*>(realloc(opaque(from_new), 4000));
    ++expected.mismatched;
    fault = newest_fault();
    EXPECT_EQ(fault.kind, Fault::Kind::mismatched_release);
    EXPECT_EQ(fault.mismatch, Fault::Mismatch::function);
    EXPECT_EQ(fault.birth.api, heapmark::Api::operator_new);
    EXPECT(resized[0] == 0x77 && resized[99] == 0x77);
    EXPECT(since.holds(1, 4000));
    free(resized);
    newest_fault(); // the new block is malloc's own: no further fault

    fresh = opaque(realloc(opaque(global + 0), 30));
    ++expected.unknown_frees;
    newest_fault();
    free(fresh);
    EXPECT(since.holds(0, 0));
}

/// Details are kept up to a limit, counts without end.
void more_than_are_kept()
{
    for (int i = 0; i < 400; ++i) guilty_free(opaque(global), 0);
    const heapmark::Faults faults = heapmark::faults();
    EXPECT_EQ(faults.unknown_frees, expected.unknown_frees + 400);
    EXPECT_EQ(faults.details.size(), 256U);
    const Fault& last = faults.details.back();
    EXPECT(!last.stack.empty() && guilty_free_code.holds_return_address(last.stack[0].address()));
}

} // namespace

int main()
{
    double_frees();
    double_free_long_after();
    never_blocks();
    inside_blocks();
    wrong_reallocs();
    use_heap_at_random(2);
    newest_fault();
    more_than_are_kept();
    use_heap_at_random(3);
    return verdict();
}
