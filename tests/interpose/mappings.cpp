// SPDX-License-Identifier: BSL-1.0
// Memory that is mapped: what is listed, against what the system says.
#include "address_space.hpp"

#include <heapmark/heapmark.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <random>
#include <sstream>
#include <sys/mman.h>
#include <sys/shm.h>
#include <thread>

using heapmark::Api;
using heapmark::Block;
using heapmark::Generation;
using heapmark::mapped;
using heapmark::Snapshot;

namespace {

constexpr int read_write = PROT_READ | PROT_WRITE;
constexpr int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
constexpr int dont_unmap = 4; // MREMAP_DONTUNMAP

char* map_pages(std::size_t count) // not a tail call: its frame is looked for
{
    void* mapped = mmap(nullptr, count * page_bytes, read_write, anonymous, -1, 0);
    REQUIRE(mapped != MAP_FAILED);
    return static_cast<char*>(mapped);
}

[[gnu::noinline]] char* map_for_cache(std::size_t bytes)
{
    void* mapped = mmap(nullptr, bytes, read_write, anonymous, -1, 0);
    asm volatile("" : "+r"(mapped));
    return static_cast<char*>(mapped);
}

/// Begin and number of bytes of each, as offsets from `base`.
std::vector<std::pair<std::ptrdiff_t, std::size_t>> pieces(const Snapshot& snapshot, const char* base)
{
    std::vector<std::pair<std::ptrdiff_t, std::size_t>> list;
    for (const Block& block : snapshot) list.emplace_back(static_cast<char*>(block.address) - base, block.size);
    return list;
}

using Pieces = std::vector<std::pair<std::ptrdiff_t, std::size_t>>;
constexpr std::ptrdiff_t page = page_bytes;

} // namespace

TEST_CASE("nothing is recorded unless it is asked for" * doctest::skip())
{
    CHECK_FALSE(heapmark::mappings_recorded());
    char* const at = map_pages(2);
    CHECK(mapped().empty());
    CHECK(mremap(at, 2 * page_bytes, page_bytes, 0) == at);
    CHECK(munmap(at, page_bytes) == 0);
    CHECK_FALSE(
        mapped_pages(reinterpret_cast<std::uintptr_t>(at), reinterpret_cast<std::uintptr_t>(at) + page_bytes)[0]);
}

TEST_CASE("a mapping is listed from mmap to munmap")
{
    REQUIRE(heapmark::mappings_recorded());
    const Generation since = heapmark::mark("cache");
    char* const at = [] {
        const heapmark::tag_scope tag("tagged");
        return map_for_cache(10'000);
    }();
    const Generation later = heapmark::mark();
    char* const other = map_pages(1);

    const Snapshot all = mapped(since);
    REQUIRE(all.size() == 2);
    CHECK(mapped(later).size() == 1);
    const Snapshot cache = mapped(since, since);
    REQUIRE(cache.size() == 1);
    CHECK(cache[0].address == at);
    CHECK(cache[0].size == 10'000);
    CHECK(cache[0].usable_size == 3 * page_bytes);
    CHECK(cache[0].generation == since);
    CHECK(cache[0].age.generations == 1);
    CHECK(cache[0].thread == heapmark::this_thread());
    CHECK(cache[0].api == Api::mmap);
    CHECK(cache[0].tag == "tagged");
    CHECK(heapmark::in_function("map_for_cache")(cache[0]));
    CHECK(all.filter(heapmark::in_function("map_for_cache")).size() == 1);
    std::ostringstream text;
    text << cache;
    CHECK(text.str().find("10,000") == std::string::npos);
    CHECK(text.str().find("1 block, 9.8 KiB  mmap  generation") != std::string::npos);
    CHECK(heapmark::survivors(since).empty());

    CHECK(munmap(at, 10'000) == 0);
    CHECK(pieces(mapped(since), other) == Pieces{{0, page_bytes}});
    CHECK(heapmark::diff(all, mapped(since)).gone.size() == 1);
    CHECK(munmap(other, page_bytes) == 0);
    CHECK(mapped(since).empty());
}

TEST_CASE("partial unmaps leave pieces")
{
    const Generation since = heapmark::mark();
    char* const at = map_for_cache(10 * page_bytes - 100);
    CHECK(munmap(at + 3 * page, 2 * page_bytes) == 0);
    CHECK(munmap(at, page_bytes) == 0);
    CHECK(pieces(mapped(since), at) == Pieces{{page, 2 * page_bytes}, {5 * page, 5 * page_bytes - 100}});
    for (const Block& piece : mapped(since)) CHECK(heapmark::in_function("map_for_cache")(piece));
    CHECK(munmap(at + 9 * page, 1) == 0); // rounded up
    CHECK(pieces(mapped(since), at) == Pieces{{page, 2 * page_bytes}, {5 * page, 4 * page_bytes}});
    CHECK(munmap(at, 10 * page_bytes) == 0); // holes do no harm
    CHECK(mapped(since).empty());
}

TEST_CASE("what is mapped over is gone")
{
    const Generation since = heapmark::mark();
    char* const at = map_pages(6);
    const Generation later = heapmark::mark();
    CHECK(mmap(at + 2 * page, 2 * page_bytes, PROT_NONE, anonymous | MAP_FIXED, -1, 0) == at + 2 * page);
    CHECK(pieces(mapped(since, since), at) == Pieces{{0, 2 * page_bytes}, {4 * page, 2 * page_bytes}});
    CHECK(pieces(mapped(later), at) == Pieces{{2 * page, 2 * page_bytes}});
    CHECK(munmap(at, 6 * page_bytes) == 0);
    CHECK(mapped(since).empty());
}

TEST_CASE("mremap is a death and a birth")
{
    const Generation since = heapmark::mark();
    char* const arena = map_pages(64);
    munmap(arena + page, 63 * page_bytes); // room to grow
    const Generation later = heapmark::mark();

    SUBCASE("in place")
    {
        CHECK(mremap(arena, page_bytes, 4 * page_bytes, 0) == arena);
        CHECK(mapped(since, since).empty());
        CHECK(pieces(mapped(later), arena) == Pieces{{0, 4 * page_bytes}});
        CHECK(mapped(later)[0].api == Api::mremap);
        CHECK(mremap(arena, 4 * page_bytes, page_bytes + 1, 0) == arena);
        CHECK(pieces(mapped(later), arena) == Pieces{{0, page_bytes + 1}});
        CHECK(mapped(later)[0].usable_size == 2 * page_bytes);
        munmap(arena, 2 * page_bytes);
    }
    SUBCASE("away")
    {
        char* const target = map_pages(8);
        arena[0] = 'x';
        CHECK(mremap(arena, page_bytes, 2 * page_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target + 3 * page) ==
              target + 3 * page);
        CHECK(target[3 * page] == 'x');
        CHECK(mapped(since, since).empty());
        CHECK(pieces(mapped(later), target) ==
              Pieces{{0, 3 * page_bytes}, {3 * page, 2 * page_bytes}, {5 * page, 3 * page_bytes}});
        munmap(target, 8 * page_bytes);
    }
    SUBCASE("from the middle")
    {
        char* const source = map_pages(6);
        char* const target = map_pages(2);
        CHECK(mremap(source + 2 * page, 2 * page_bytes, 2 * page_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target) ==
              target);
        CHECK(pieces(mapped(later).filter([&](const Block& b) { return b.address != target; }), source) ==
              Pieces{{0, 2 * page_bytes}, {4 * page, 2 * page_bytes}});
        munmap(source, 6 * page_bytes);
        munmap(target, 2 * page_bytes);
        munmap(arena, page_bytes);
    }
    SUBCASE("and the old one stays")
    {
        void* const moved = mremap(arena, page_bytes, page_bytes, MREMAP_MAYMOVE | dont_unmap, nullptr);
        if (moved == MAP_FAILED)
            REQUIRE(errno == EINVAL); // before Linux 5.7
        else {
            CHECK(pieces(mapped(since, since), arena) == Pieces{{0, page_bytes}});
            CHECK(pieces(mapped(later), static_cast<char*>(moved)) == Pieces{{0, page_bytes}});
            munmap(moved, page_bytes);
        }
        munmap(arena, page_bytes);
    }
    SUBCASE("doubled")
    {
        void* const shared = mmap(nullptr, 2 * page_bytes, read_write, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        void* const second = mremap(shared, 0, 2 * page_bytes, MREMAP_MAYMOVE);
        REQUIRE(second != MAP_FAILED);
        CHECK(mapped(later).size() == 2);
        munmap(shared, 2 * page_bytes);
        munmap(second, 2 * page_bytes);
        munmap(arena, page_bytes);
    }
    SUBCASE("failed")
    {
        char* const blocked = map_pages(3);
        munmap(arena, page_bytes);
        errno = 0;
        CHECK(mremap(blocked, page_bytes, 2 * page_bytes, 0) == MAP_FAILED); // its own second page is in the way
        CHECK(errno == ENOMEM);
        CHECK(pieces(mapped(later), blocked) == Pieces{{0, 3 * page_bytes}});
        CHECK(mremap(blocked + 1, page_bytes, page_bytes, 0) == MAP_FAILED);
        CHECK(errno == EINVAL);
        CHECK(pieces(mapped(later), blocked) == Pieces{{0, 3 * page_bytes}});
        munmap(blocked, 3 * page_bytes);
    }
    CHECK(mapped(since).empty());
}

TEST_CASE("errors change nothing")
{
    const Generation since = heapmark::mark();
    char* const at = map_pages(4);
    errno = 0;
    CHECK(munmap(at + 1, page_bytes) == -1);
    CHECK(errno == EINVAL);
    CHECK(munmap(at, 0) == -1);
    CHECK(munmap(at, ~std::size_t{0}) == -1);
    CHECK(errno == EINVAL);
    CHECK(mmap(nullptr, 0, read_write, anonymous, -1, 0) == MAP_FAILED);
    CHECK(errno == EINVAL);
    CHECK(mmap(nullptr, page_bytes, read_write, MAP_PRIVATE, -1, 0) == MAP_FAILED);
    CHECK(errno == EBADF);
    // The place may have been cleared before that failed; the system tells.
    CHECK(mmap(at + page, page_bytes, read_write, MAP_PRIVATE | MAP_FIXED, -1, 0) == MAP_FAILED);
    const auto begin = reinterpret_cast<std::uintptr_t>(at);
    CHECK(mapped_pages(begin, begin + 4 * page_bytes)[1] == (mapped(since).size() == 1));
    errno = 0;
    CHECK(shmdt(at) == -1);
    CHECK(errno == EINVAL);
    CHECK(pieces(mapped(since), at) == Pieces{{0, 4 * page_bytes}});
    errno = 7;
    munmap(at, 4 * page_bytes);
    CHECK(errno == 7);
    CHECK(mapped(since).empty());
}

TEST_CASE("an unmap that the system refuses leaves all as it was")
{
    // More mappings than it allows: each change of protection makes one.
    constexpr std::size_t most = std::size_t{1} << 21;
    char* const at = static_cast<char*>(mmap(nullptr, most * page_bytes, PROT_NONE, anonymous | MAP_NORESERVE, -1, 0));
    REQUIRE(at != MAP_FAILED);
    char* const three = map_pages(3);
    const Generation since = heapmark::mark();
    std::size_t changed = 0;
    while (changed < most && mprotect(at + static_cast<std::ptrdiff_t>(changed) * page, page_bytes, PROT_READ) == 0)
        changed += 2;
    const Snapshot before = mapped();
    std::size_t refused = 0;
    char* split = nullptr; // of a mapping nobody else has pages beside
    for (std::ptrdiff_t i = 1; i <= 2; ++i)
        if (munmap(three + page, page_bytes) != 0) {
            CHECK(errno == ENOMEM);
            split = three;
            ++refused;
        }
    const Snapshot after = mapped();
    munmap(at, most * page_bytes);
    if (changed < most) {
        CHECK(refused == 2);
        CHECK(split == three);
        CHECK(heapmark::diff(before, after).kept.size() == before.size());
        CHECK(after.size() == before.size());
    }
    munmap(three, 3 * page_bytes);
    CHECK(mapped(since).empty());
}

TEST_CASE("files and shared memory")
{
    const Generation since = heapmark::mark();
    const int file = memfd_create("file", 0);
    REQUIRE(ftruncate(file, 3 * page) == 0);
    void* const of_file = mmap(nullptr, 5000, PROT_READ, MAP_SHARED, file, page);
    REQUIRE(of_file != MAP_FAILED);
    close(file);
    CHECK(mapped(since)[0].usable_size == 2 * page_bytes);

    const std::string name = "/heapmark-test-" + std::to_string(getpid());
    const int shared = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    REQUIRE(shared >= 0);
    shm_unlink(name.c_str());
    REQUIRE(ftruncate(shared, page) == 0);
    void* const of_shared = mmap(nullptr, page_bytes, read_write, MAP_SHARED, shared, 0);
    close(shared);
    CHECK(mapped(since).size() == 2);
    munmap(of_file, 5000);
    munmap(of_shared, page_bytes);
    CHECK(mapped(since).empty());
}

TEST_CASE("segments of System V")
{
    const Generation since = heapmark::mark();
    const int segment = shmget(IPC_PRIVATE, 3 * page_bytes - 10, IPC_CREAT | 0600);
    REQUIRE(segment >= 0);
    char* const first = static_cast<char*>(shmat(segment, nullptr, 0));
    char* const second = static_cast<char*>(shmat(segment, nullptr, SHM_RDONLY));
    shmctl(segment, IPC_RMID, nullptr);
    REQUIRE(first != reinterpret_cast<void*>(-1));
    const Snapshot both = mapped(since);
    REQUIRE(both.size() == 2);
    CHECK(both[0].api == Api::shmat);
    CHECK(both[0].size == 3 * page_bytes - 10);
    CHECK(both[0].usable_size == 3 * page_bytes);
    munmap(first, page_bytes);
    CHECK(mapped(since).size() == 2);
    CHECK(shmdt(first) == 0); // what is left of it
    CHECK(pieces(mapped(since), second) == Pieces{{0, 3 * page_bytes - 10}});
    errno = 0;
    CHECK(shmdt(second + page) == -1);
    CHECK(errno == EINVAL);
    CHECK(mapped(since).size() == 1);
    CHECK(shmdt(second) == 0);
    CHECK(mapped(since).empty());
}

TEST_CASE("huge pages")
{
    const Generation since = heapmark::mark();
    // Not reserved, so that there need not be any; it must not be touched.
    void* const at = mmap(nullptr, 5000, read_write, anonymous | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        MESSAGE("no huge pages here: " << std::strerror(errno));
        return;
    }
    constexpr std::size_t huge_bytes = std::size_t{2} << 20;
    REQUIRE(mapped(since).size() == 1);
    CHECK(mapped(since)[0].size == 5000);
    CHECK(mapped(since)[0].usable_size == huge_bytes);
    CHECK(munmap(at, page_bytes) == -1); // only all of it
    CHECK(mapped(since).size() == 1);
    void* const sized =
        mmap(nullptr, 1, read_write, anonymous | MAP_HUGETLB | MAP_NORESERVE | 21 << MAP_HUGE_SHIFT, -1, 0);
    const int file = memfd_create("huge", MFD_HUGETLB);
    void* const of_file = mmap(nullptr, 1, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, file, 0);
    close(file);
    std::size_t count = 1;
    for (void* const other : {sized, of_file}) count += other != MAP_FAILED ? 1U : 0U;
    const Snapshot all = mapped(since);
    CHECK(all.size() == count);
    for (const Block& block : all) CHECK(block.usable_size == huge_bytes);
    for (void* const each : {at, sized, of_file})
        if (each != MAP_FAILED) CHECK(munmap(each, huge_bytes) == 0);
    CHECK(mapped(since).empty());
}

TEST_CASE("only what the program maps itself")
{
    const Generation since = heapmark::mark();
    void* const large = std::malloc(std::size_t{64} << 20);
    heapmark::escape(large);
    std::thread([] {}).join();
    void* const library = dlopen("libm.so.6", RTLD_NOW);
    std::ostringstream text;
    text << heapmark::survivors(since) << heapmark::explain(heapmark::survivors(since)); // reads debug information
    CHECK(mapped(since).empty());
    std::free(large);
    if (library != nullptr) dlclose(library);
    CHECK(mapped(since).empty());
}

TEST_CASE("to explain they are no heap blocks")
{
    const Generation since = heapmark::mark();
    char* const at = map_pages(1);
    const heapmark::Explanation why = heapmark::explain(mapped(since));
    CHECK(why.gone().size() == 1);
    CHECK(why.lost().empty());
    munmap(at, page_bytes);
}

TEST_CASE("ignored ones are left out unless asked for")
{
    const Generation since = heapmark::mark();
    char* at = nullptr;
    {
        const heapmark::ignore ignored;
        at = map_pages(1);
    }
    CHECK(mapped(since).empty());
    CHECK(mapped(since, Generation{~std::uint64_t{0}}, heapmark::Ignored::include).size() == 1);
    munmap(at, page_bytes);
}

TEST_CASE("random calls against what the system says")
{
    constexpr std::size_t pages = 256;
    for (unsigned seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        const Generation since = heapmark::mark();
        // Far from where the system puts what others map, which would come to lie in the holes.
        constexpr std::uintptr_t remote = 0x2000'0000'0000;
        char* const arena = static_cast<char*>(mmap(reinterpret_cast<void*>(remote), pages * page_bytes, read_write,
                                                    anonymous | MAP_FIXED_NOREPLACE, -1, 0));
        REQUIRE(arena != MAP_FAILED);
        const auto begin = reinterpret_cast<std::uintptr_t>(arena);
        for (int step = 0; step < 100; ++step) {
            const auto below = [&](std::size_t limit) { return random() % limit; };
            const std::size_t first = below(pages);
            const std::size_t count = 1 + below(std::min<std::size_t>(pages - first, 40));
            char* const at = arena + static_cast<std::ptrdiff_t>(first) * page;
            switch (below(7)) {
            case 0: mmap(at, count * page_bytes, PROT_NONE, anonymous | MAP_FIXED, -1, 0); break;
            case 1: munmap(at, count * page_bytes); break;
            case 2: // in place, or not at all
                mremap(at, count * page_bytes, (1 + below(std::min<std::size_t>(pages - first, 40))) * page_bytes, 0);
                break;
            case 3:
                mprotect(at, count * page_bytes, below(2) == 0 ? PROT_NONE : PROT_READ);
                break; // no longer one with others
            case 4:
            case 5: { // several at once, since Linux 6.17
                const std::size_t target = below(pages - count + 1);
                mremap(at, count * page_bytes, count * page_bytes,
                       MREMAP_MAYMOVE | MREMAP_FIXED | (below(2) == 0 ? dont_unmap : 0),
                       arena + static_cast<std::ptrdiff_t>(target) * page);
                break;
            }
            default: {
                const std::size_t target = below(pages);
                const std::size_t bytes = (1 + below(std::min<std::size_t>(pages - target, 40))) * page_bytes;
                mremap(at, count * page_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                       arena + static_cast<std::ptrdiff_t>(target) * page);
            }
            }
            std::vector<bool> listed(pages);
            for (const Block& block : mapped(since)) {
                const auto from = reinterpret_cast<std::uintptr_t>(block.address);
                if (from < begin || from >= begin + pages * page_bytes) continue;
                for (std::size_t i = 0; i < block.usable_size / page_bytes; ++i) {
                    REQUIRE_FALSE(listed[(from - begin) / page_bytes + i]);
                    listed[(from - begin) / page_bytes + i] = true;
                }
            }
            REQUIRE(listed == mapped_pages(begin, begin + pages * page_bytes));
        }
        munmap(arena, pages * page_bytes);
        CHECK(mapped(since).empty());
    }
}
