// SPDX-License-Identifier: BSL-1.0
// Requests that cannot be served: what comes back, errno, and that nothing is left in the record.
// And errno after what succeeds: POSIX lets free not change it.
#include "doors.hpp"

#include <cerrno>
#include <cstdint>
#include <limits>

using namespace doors;

namespace {

constexpr std::size_t too_much = std::size_t{PTRDIFF_MAX} - 4096; // less than PTRDIFF_MAX, more than any memory
constexpr std::size_t beyond = std::size_t{PTRDIFF_MAX} + 1;
constexpr std::size_t most = std::numeric_limits<std::size_t>::max();

void expect_refused(void* block, int error)
{
    EXPECT_EQ(block, static_cast<void*>(nullptr));
    EXPECT_EQ(errno, error);
    free(block);
    errno = 0;
}

void sizes_beyond_reason()
{
    for (const std::size_t size : {too_much, beyond, most - 8192, most - 15, most}) {
        const std::size_t bytes = opaque(size);
        errno = 0;
        expect_refused(malloc(bytes), ENOMEM);
        expect_refused(calloc(1, bytes), ENOMEM);
        expect_refused(calloc(bytes, 1), ENOMEM);
        expect_refused(realloc(opaque(static_cast<void*>(nullptr)), bytes), ENOMEM);
        expect_refused(reallocarray(opaque(static_cast<void*>(nullptr)), 1, bytes), ENOMEM);
        expect_refused(memalign(64, bytes), ENOMEM);
        expect_refused(aligned_alloc(64, bytes), ENOMEM);
        expect_refused(valloc(bytes), ENOMEM);
        expect_refused(pvalloc(bytes), ENOMEM);
        void* untouched = &errno;
        EXPECT_EQ(posix_memalign(&untouched, 64, bytes), ENOMEM);
        EXPECT_EQ(untouched, static_cast<void*>(&errno));
        EXPECT_EQ(errno, 0); // POSIX: returned, not set
    }
}

void products_that_overflow()
{
    constexpr std::size_t half = std::size_t{1} << 32;
    errno = 0;
    expect_refused(calloc(opaque(half), opaque(half)), ENOMEM);
    expect_refused(calloc(opaque(half + 1), opaque(half)), ENOMEM); // 2^64 + 2^32: wraps around to something small
    expect_refused(calloc(opaque(most), opaque(std::size_t{2})), ENOMEM);
    expect_refused(reallocarray(opaque(static_cast<void*>(nullptr)), opaque(half + 1), opaque(half)), ENOMEM);

    void* block = malloc(40);
    EXPECT_EQ(reallocarray(opaque(block), opaque(half + 1), opaque(half)), static_cast<void*>(nullptr));
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    free(block);
}

void alignments_that_are_none()
{
    void* untouched = &errno;
    for (const std::size_t alignment : {std::size_t{0}, std::size_t{1}, std::size_t{4}, std::size_t{12},
                                        std::size_t{24}, std::size_t{48}, std::size_t{100}, most}) {
        errno = 0;
        EXPECT_EQ(posix_memalign(&untouched, opaque(alignment), 10), EINVAL);
        EXPECT_EQ(errno, 0);
    }
    EXPECT_EQ(untouched, static_cast<void*>(&errno));

    errno = 0;
    expect_refused(memalign(opaque(most), 10), EINVAL); // glibc: no power of two is as large
    // glibc rounds other numbers up to a power of two.
    for (const std::size_t alignment : std::initializer_list<std::size_t>{0, 1, 3, 24, 100}) {
        void* block = memalign(opaque(alignment), 10);
        EXPECT(block != nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % (alignment == 100 ? 128 : alignment == 24 ? 32 : 16), 0U);
        free(block);
    }
}

void operators()
{
    for (const std::size_t size : {too_much, beyond, most}) {
        const std::size_t bytes = opaque(size);
        EXPECT_EQ(::operator new(bytes, std::nothrow), static_cast<void*>(nullptr));
        EXPECT_EQ(::operator new[](bytes, std::nothrow), static_cast<void*>(nullptr));
        EXPECT_EQ(::operator new(bytes, std_alignment, std::nothrow), static_cast<void*>(nullptr));
        EXPECT_EQ(::operator new[](bytes, std_alignment, std::nothrow), static_cast<void*>(nullptr));
        int caught = 0;
        for (void* (*allocate)(std::size_t) :
             {obtain_new, obtain_new_array, obtain_new_aligned, obtain_new_array_aligned}) {
            try {
                allocate(bytes);
            } catch (const std::bad_alloc&) {
                ++caught;
            }
        }
        EXPECT_EQ(caught, 4);
    }
}

void errno_is_kept()
{
    for (const Obtain& obtain : obtains)
        for (const std::size_t size : {std::size_t{20}, std::size_t{300'000}}) // the second is unmapped when freed
            for (const Release& release : releases) {
                if (judge(obtain, release) != Pair::right) continue;
                errno = 1234;
                void* block = obtain.call(size);
                EXPECT_EQ(errno, 1234);
                release.call(block, size);
                EXPECT_EQ(errno, 1234);
            }
}

} // namespace

int main()
{
    try {
        static_cast<void>(::operator new(opaque(most))); // what throwing needs is allocated and kept
    } catch (const std::bad_alloc&) {}
    const Since since;
    sizes_beyond_reason();
    products_that_overflow();
    alignments_that_are_none();
    operators();
    EXPECT(since.holds(0, 0));
    errno_is_kept();
    EXPECT(since.holds(0, 0));
    return verdict();
}
