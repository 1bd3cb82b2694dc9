// SPDX-License-Identifier: BSL-1.0
// A preload library of its own: at allocations of a real program it compares the stack that heapmark would record, by
// the known stacks, the stack cache and the general walk, with what the compiler's unwinder tells, frame by frame down
// to the limit.
// It tracks nothing. At exit it appends one line to the file STACKS_OUTPUT, and the first differences.
// STACKS_EVERY=n looks at each n-th allocation of a thread; the stack cache is brought up to date at every one.
#include "../unit/capture/unwound.hpp"

#include "base/bits.hpp"
#include "base/frames_hash.hpp"
#include "capture/known_stacks.hpp"
#include "platform/modules.hpp"
#include "platform/pages.hpp"
#include "platform/stack_bounds.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <span>
#include <unistd.h>

using namespace heapmark;

extern "C" void* __libc_malloc(std::size_t);              // NOLINT: glibc's name
extern "C" void* __libc_calloc(std::size_t, std::size_t); // NOLINT
extern "C" void* __libc_realloc(void*, std::size_t);      // NOLINT

namespace {

constexpr unsigned limit = capture::max_depth_frames;

struct Caches {
    capture::KnownStacks known;
    capture::StackCache stacks;
    capture::RuleCache rules;
};

struct Thread {
    bool busy;
    bool prepared;
    Caches* caches; ///< never given back: the process is short
    platform::StackBounds stack;
    unsigned long allocations;
};
constinit thread_local Thread thread __attribute__((tls_model("initial-exec"))) = {};

struct Totals {
    std::atomic<unsigned long> compared{0};
    std::atomic<unsigned long> same{0};
    std::atomic<unsigned long> by_cache{0};      ///< of those, stacks that the stack cache told
    std::atomic<unsigned long> known{0};         ///< found among the known stacks
    std::atomic<unsigned long> cache_differs{0}; ///< from the general walk
    std::atomic<unsigned long> prefix{0};        ///< of those that differ: heapmark's is the oracle's, but shorter
    std::atomic<unsigned long> oracle_prefix{0}; ///< the oracle's is heapmark's, but shorter
};
constinit Totals totals;

constexpr unsigned samples_kept = 20;
struct Sample {
    std::uint64_t ours[limit];
    std::uintptr_t theirs[limit];
    unsigned our_count;
    unsigned their_count;
};
constinit Sample samples[samples_kept] = {};
constinit std::atomic<unsigned> sample_count{0};

unsigned long every() noexcept
{
    static constinit std::atomic<unsigned long> known{0};
    unsigned long number = known.load(std::memory_order_relaxed);
    if (number == 0) {
        const char* text = std::getenv("STACKS_EVERY");
        number = std::max(1UL, text == nullptr ? 1 : std::strtoul(text, nullptr, 10));
        known.store(number, std::memory_order_relaxed);
    }
    return number;
}

/// What is kept for a stack that is known.
std::uint32_t note_of(std::uint64_t hash) { return static_cast<std::uint32_t>(base::mix64(hash)) | 1; }

void compare(const capture::Caller& caller, const capture::Refreshed& from_cache, std::uint32_t known)
{
    Sample now{};
    now.our_count = capture::capture_stack(caller, thread.stack, &thread.caches->rules, now.ours, limit);
    Unwound<limit> oracle{caller.pc};
    oracle.take();
    ++totals.compared;
    const std::uint64_t hash = base::FramesHash::of(std::span(now.ours, now.our_count));
    if (known != 0) {
        ++totals.known;
        if (known != note_of(hash)) ++totals.cache_differs;
    }
    if (from_cache.count != 0) {
        ++totals.by_cache;
        if (from_cache.count != now.our_count || from_cache.hash != hash) ++totals.cache_differs;
    }
    const unsigned common = std::min(now.our_count, oracle.count);
    const bool equal = std::equal(now.ours, now.ours + common, oracle.pcs, [](std::uint64_t frame, std::uintptr_t pc) {
        return (frame & 0xffff'ffff'ffffU) == pc;
    });
    if (equal && now.our_count == oracle.count) {
        ++totals.same;
        return;
    }
    if (equal) ++(now.our_count < oracle.count ? totals.prefix : totals.oracle_prefix);
    if (const unsigned slot = sample_count.fetch_add(1); slot < samples_kept) {
        std::copy(oracle.pcs, oracle.pcs + oracle.count, now.theirs);
        now.their_count = oracle.count;
        samples[slot] = now;
    }
}

[[gnu::noinline]] void look(const void* frame)
{
    if (thread.busy) return;
    thread.busy = true; // what the unwinder and the loader allocate is not looked at
    if (!thread.prepared) {
        thread.prepared = true;
        thread.caches = static_cast<Caches*>(platform::map_pages(sizeof(Caches)));
        thread.stack = platform::stack_of_this_thread();
        if (thread.caches != nullptr) thread.caches->known.begin(limit);
    }
    if (thread.caches != nullptr) {
        const capture::Caller caller = capture::caller_of(frame);
        const std::uint32_t known = thread.caches->known.find(caller, limit);
        const capture::Refreshed found =
            capture::refresh(thread.caches->stacks, thread.caches->rules, caller, thread.stack, limit);
        if (++thread.allocations % every() == 0) compare(caller, found, known);
        if (known == 0 && found.count != 0)
            thread.caches->known.keep(thread.caches->stacks, found, caller, limit, note_of(found.hash));
    }
    thread.busy = false;
}

void print_frame(int file, std::uintptr_t pc)
{
    Dl_info info{};
    const bool known = dladdr(reinterpret_cast<void*>(pc - 1), &info) != 0; // NOLINT
    dprintf(file, "    %#lx %s+%#lx %s\n", pc, known ? info.dli_fname : "?",
            pc - (known ? reinterpret_cast<std::uintptr_t>(info.dli_fbase) : 0),
            known && info.dli_sname != nullptr ? info.dli_sname : "");
}

[[gnu::destructor]] void print()
{
    thread.busy = true;
    const char* path = std::getenv("STACKS_OUTPUT");
    const int file = path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) return;
    char name[256] = "?";
    const ssize_t length = readlink("/proc/self/exe", name, sizeof name - 1);
    if (length > 0) name[length] = 0;
    dprintf(file, "stacks %s compared %lu same %lu by_cache %lu known %lu cache_differs %lu shorter %lu longer %lu\n", name,
            totals.compared.load(), totals.same.load(), totals.by_cache.load(), totals.known.load(), totals.cache_differs.load(),
            totals.prefix.load(), totals.oracle_prefix.load());
    for (unsigned i = 0; i < std::min(samples_kept, sample_count.load()); ++i) {
        dprintf(file, "  heapmark's\n");
        for (unsigned f = 0; f < samples[i].our_count; ++f) print_frame(file, samples[i].ours[f] & 0xffff'ffff'ffffU);
        dprintf(file, "  the unwinder's\n");
        for (unsigned f = 0; f < samples[i].their_count; ++f) print_frame(file, samples[i].theirs[f]);
    }
    close(file);
}

} // namespace

#define LOOK() look(__builtin_frame_address(0))

extern "C" {

[[gnu::visibility("default")]] void* malloc(std::size_t bytes)
{
    LOOK();
    return __libc_malloc(bytes);
}
[[gnu::visibility("default")]] void* calloc(std::size_t count, std::size_t bytes)
{
    LOOK();
    return __libc_calloc(count, bytes);
}
[[gnu::visibility("default")]] void* realloc(void* block, std::size_t bytes)
{
    LOOK();
    return __libc_realloc(block, bytes);
}
[[gnu::visibility("default")]] int dlclose(void* handle)
{
    static const auto real = reinterpret_cast<int (*)(void*)>(dlsym(RTLD_NEXT, "dlclose"));
    const int result = real(handle);
    platform::note_unload();
    return result;
}
}
