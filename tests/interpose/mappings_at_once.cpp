// SPDX-License-Identifier: BSL-1.0
// Threads that map at the same time, handlers that interrupt them, children that are forked meanwhile.
#include "address_space.hpp"
#include "expect.hpp"

#include <heapmark/heapmark.hpp>

#include <algorithm>
#include <csignal>
#include <random>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

namespace {

using heapmark::Block;
using heapmark::mapped;
using heapmark::Snapshot;

void* map_some(std::size_t bytes)
{
    return mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

struct Kept {
    char* address;
    std::size_t bytes;
};

/// Maps, unmaps, grows at random; returns what it has left.
std::vector<Kept> map_at_random(unsigned seed, int steps)
{
    std::mt19937 random(seed);
    std::vector<Kept> kept;
    for (int i = 0; i < steps; ++i) {
        const std::size_t bytes = (1 + random() % 8) * page_bytes;
        if (kept.size() < 50 || random() % 2 == 0) {
            kept.push_back({static_cast<char*>(map_some(bytes)), bytes});
            continue;
        }
        Kept& chosen = kept[random() % kept.size()];
        switch (random() % 3) {
        case 0:
            munmap(chosen.address, chosen.bytes);
            chosen = kept.back();
            kept.pop_back();
            break;
        case 1:
            chosen.address = static_cast<char*>(mremap(chosen.address, chosen.bytes, bytes, MREMAP_MAYMOVE));
            chosen.bytes = bytes;
            break;
        default:
            if (chosen.bytes > page_bytes) munmap(chosen.address + page_bytes, chosen.bytes - page_bytes);
            chosen.bytes = page_bytes;
        }
    }
    return kept;
}

bool lists_exactly(const Snapshot& snapshot, std::vector<Kept> kept)
{
    std::sort(kept.begin(), kept.end(), [](const Kept& a, const Kept& b) { return a.address < b.address; });
    return std::equal(
        snapshot.begin(), snapshot.end(), kept.begin(), kept.end(),
        [](const Block& block, const Kept& one) { return block.address == one.address && block.size == one.bytes; });
}

void unmap_all(const std::vector<Kept>& kept)
{
    for (const Kept& one : kept) munmap(one.address, one.bytes);
}

void threads_at_once()
{
    const heapmark::Generation since = heapmark::mark();
    std::vector<std::vector<Kept>> left(6);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < left.size(); ++i)
        threads.emplace_back([&left, i] { left[i] = map_at_random(i + 1, 20'000); });
    for (int i = 0; i < 50; ++i) // never two at the same place
        for (const Snapshot now = mapped(since); const Block& block : now)
            if (&block + 1 != now.end())
                EXPECT(static_cast<char*>(block.address) + block.usable_size <= (&block + 1)->address);
    for (std::thread& thread : threads) thread.join();
    std::vector<Kept> all;
    for (const std::vector<Kept>& one : left) all.insert(all.end(), one.begin(), one.end());
    EXPECT(lists_exactly(mapped(since), all));
    unmap_all(all);
    EXPECT(mapped(since).empty());
}

std::atomic<int> handled{0};

void map_in_handler(int)
{
    const int saved_errno = errno;
    void* const at = map_some(2 * page_bytes);
    munmap(static_cast<char*>(at) + page_bytes, page_bytes);
    void* const moved = mremap(at, page_bytes, 3 * page_bytes, MREMAP_MAYMOVE);
    munmap(moved, 3 * page_bytes);
    handled.fetch_add(1);
    errno = saved_errno;
}

void handlers_that_map()
{
    struct sigaction action = {};
    action.sa_handler = map_in_handler;
    sigaction(SIGALRM, &action, nullptr);
    const heapmark::Generation since = heapmark::mark();
    const itimerval often{{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &often, nullptr);
    std::vector<std::thread> threads;
    std::vector<std::vector<Kept>> left(2);
    for (unsigned i = 0; i < left.size(); ++i)
        threads.emplace_back([&left, i] { left[i] = map_at_random(i + 10, 30'000); });
    for (std::thread& thread : threads) thread.join();
    while (handled.load() < 200) static_cast<void>(mapped(since));
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    std::vector<Kept> all = left[0];
    all.insert(all.end(), left[1].begin(), left[1].end());
    EXPECT(lists_exactly(mapped(since), all));
    unmap_all(all);
    EXPECT(mapped(since).empty());
}

/// What a child finds: its own mappings to the last, and those that it has of its parent's.
int check_child(const Kept& of_parent, bool others_too)
{
    alarm(30);
    const heapmark::Generation since = heapmark::mark();
    const std::vector<Kept> kept = map_at_random(99, 300);
    EXPECT(lists_exactly(mapped(since), kept));
    unmap_all(kept);
    EXPECT(mapped(since).empty());
    if (others_too) {
        const Snapshot all = mapped();
        EXPECT(std::any_of(all.begin(), all.end(),
                           [&](const Block& block) { return block.address == of_parent.address; }));
        EXPECT_EQ(all.unrecorded(), 0U);
    }
    return failed_checks.load();
}

void expect_success(pid_t child)
{
    int status = -1;
    const pid_t ended = waitpid(child, &status, 0);
    EXPECT_EQ(ended, child);
    EXPECT_EQ(status, 0);
}

/// Threads can be stopped that wait for each other, and for one that forks.
void searches_meanwhile()
{
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 3; ++i)
        threads.emplace_back([&stop, i] {
            while (!stop.load()) unmap_all(map_at_random(i + 30, 200));
        });
    threads.emplace_back([&stop] {
        while (!stop.load()) {
            const pid_t child = fork();
            if (child == 0) _exit(0);
            expect_success(child);
        }
    });
    for (int i = 0; i < 50; ++i) {
        const heapmark::Generation since = heapmark::mark();
        void* const block = opaque(std::malloc(100));
        EXPECT(heapmark::explain(heapmark::survivors(since, since)).complete());
        std::free(block);
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
}

void forks_meanwhile()
{
    const Kept own{static_cast<char*>(map_some(page_bytes)), page_bytes};
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 3; ++i)
        threads.emplace_back([&stop, i] {
            while (!stop.load()) unmap_all(map_at_random(i + 20, 200));
        });
    for (int i = 0; i < 60; ++i) {
        const pid_t child = fork();
        if (child == 0) _exit(check_child(own, true));
        expect_success(child);
    }
    // Behind the C library's back: one child in ten or so begins anew, since another thread was just recording.
    for (int i = 0; i < 200; ++i) {
        const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
        if (child == 0) {
            alarm(30);
            const heapmark::Generation since = heapmark::mark();
            void* const at = map_some(page_bytes);
            const Snapshot now = mapped(since); // allocates in the main arena, which no other thread uses
            _exit(now.size() == 1 && now[0].address == at ? 0 : 1);
        }
        expect_success(child);
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
    const pid_t child = vfork();
    static void* made = nullptr;
    if (child == 0) {
        made = map_some(3 * page_bytes); // its parent has it, too
        _exit(0);
    }
    expect_success(child);
    const Snapshot all = mapped();
    EXPECT(std::any_of(all.begin(), all.end(), [](const Block& block) { return block.address == made; }));
    munmap(made, 3 * page_bytes);
    munmap(own.address, own.bytes);
}

/// Handlers of fork that map: before heapmark's own have run, and after.
void forks_whose_handlers_map()
{
    static void* before = nullptr;
    pthread_atfork([] { before = map_some(page_bytes); }, [] { munmap(before, page_bytes); },
                   [] { static_cast<void>(map_some(page_bytes)); });
    const heapmark::Generation since = heapmark::mark();
    const pid_t child = fork();
    if (child == 0) {
        alarm(30);
        _exit(mapped(since).size() == 2 ? 0 : 1);
    }
    expect_success(child);
    EXPECT(mapped(since).empty());
}

} // namespace

int main()
{
    EXPECT(heapmark::mappings_recorded());
    threads_at_once();
    handlers_that_map();
    searches_meanwhile();
    forks_meanwhile();
    forks_whose_handlers_map();
    return verdict();
}
