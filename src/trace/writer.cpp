// SPDX-License-Identifier: BSL-1.0
// Starting and stopping, pieces of the file for threads, and the records of allocations and releases.
#include "trace/writer.hpp"

#include "platform/monotonic_clock.hpp"
#include "platform/options.hpp"
#include "platform/pages.hpp"
#include "platform/raw_syscall.hpp"
#include "platform/raw_write.hpp"
#include "trace/append.hpp"
#include "trace/definitions.hpp"
#include "trace/file.hpp"
#include "trace/format.hpp"

#include <cerrno>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

namespace heapmark::trace {
namespace {

using platform::raw_syscall;
using platform::ThreadState;

/// Whose trace this is. The word lies in a page that the system clears in a forked child.
enum Owner : std::uint32_t { child = 0, starting = 1, ours = 2 };

struct Trace {
    std::atomic<std::uint32_t>
        number; ///< of traces begun; chunks of another number are of a file that is no more written
    std::atomic<std::uint32_t> users; ///< threads that are taking a chunk
    std::atomic<std::uint64_t> chunks;
    std::atomic<FileHeader*> header; ///< stays mapped for ever, since a thread may be counting a drop
    std::atomic<std::uint32_t>* owner;
    std::uint64_t start_ns;
    std::atomic<bool> told; ///< that records are dropped
    File file;
    char pattern[path_capacity];
    char path[path_capacity];
};
constinit Trace trace{};

constinit std::atomic<Chunk*> spare_chunks[16]{};

constinit thread_local std::atomic<Chunk*> own_chunk __attribute__((tls_model("initial-exec")));
constinit thread_local std::uint32_t depth __attribute__((tls_model("initial-exec"))); ///< > 1: in a signal handler

std::uint64_t now_ns() noexcept { return platform::monotonic_ns() - trace.start_ns; }

bool is_current(const Chunk* chunk) noexcept
{
    return chunk != nullptr && chunk->header.trace == trace.number.load(std::memory_order_relaxed);
}

void unmap(Chunk* chunk) noexcept { platform::unmap_pages(chunk, chunk_bytes); }

/// The first drop of a trace is told at once: who reads the trace learns the number.
void tell_of_drops(int error) noexcept
{
    if (trace.told.exchange(true, std::memory_order_relaxed)) return;
    platform::Line line;
    line << "heapmark: the trace " << std::string_view(trace.path) << " cannot grow: ";
    append_reason(line, error);
    line << "; records are dropped from here on\n";
    platform::write_all(STDERR_FILENO, line.text());
}

Chunk* make_chunk() noexcept
{
    // After a failure not each record tries again.
    FileHeader* const header = trace.header.load(std::memory_order_relaxed);
    if (header->dropped.load(std::memory_order_relaxed) % 4096 != 0) return nullptr;
    const std::uint64_t number = trace.chunks.fetch_add(1, std::memory_order_relaxed);
    int error = 0;
    auto* const chunk = static_cast<Chunk*>(trace.file.map(header_bytes + number * chunk_bytes, chunk_bytes, error));
    if (chunk == nullptr) {
        tell_of_drops(error);
        return nullptr;
    }
    chunk->header.begun_ns = now_ns();
    chunk->header.trace = trace.number.load(std::memory_order_relaxed);
    chunk->header.magic = ChunkHeader::right_magic;
    return chunk;
}

Chunk* take_spare() noexcept
{
    for (std::atomic<Chunk*>& spare : spare_chunks) {
        if (spare.load(std::memory_order_relaxed) == nullptr) continue;
        Chunk* const taken = spare.exchange(nullptr, std::memory_order_acquire);
        if (is_current(taken)) return taken;
        if (taken != nullptr) unmap(taken);
    }
    return nullptr;
}

void give_away(Chunk* chunk) noexcept
{
    if (is_current(chunk) && chunk->header.used.load(std::memory_order_relaxed) < chunk_capacity)
        for (std::atomic<Chunk*>& spare : spare_chunks) {
            Chunk* none = nullptr;
            if (spare.compare_exchange_strong(none, chunk, std::memory_order_release, std::memory_order_relaxed))
                return;
        }
    unmap(chunk);
}

/// Stores a record if the chunk has room.
bool put(Chunk* chunk, const Words& words) noexcept
{
    const std::uint32_t slot = chunk->header.used.fetch_add(1, std::memory_order_relaxed);
    if (slot >= chunk_capacity) return false;
    Record& record = chunk->records[slot];
    record.words[2].store(words[2], std::memory_order_relaxed);
    record.words[1].store(words[1], std::memory_order_relaxed);
    record.words[0].store(words[0], std::memory_order_release); // from here on it counts, even if we are killed
    return true;
}

/// A chunk with room for the thread; false without space. A signal handler may have come first with one.
bool renew_chunk(const ThreadState& thread) noexcept
{
    trace.users.fetch_add(1, std::memory_order_seq_cst);
    Chunk* chunk = nullptr;
    if (is_written()) { // else the file may be closed already
        chunk = take_spare();
        if (chunk == nullptr) chunk = make_chunk();
    }
    trace.users.fetch_sub(1, std::memory_order_release);
    if (chunk == nullptr) return false;
    const std::uint64_t system_thread = static_cast<std::uint64_t>(raw_syscall(SYS_gettid));
    put(chunk, {KindField::put(static_cast<std::uint64_t>(Kind::thread)) | TimeField::put(now_ns()),
                ThreadField::put(thread.thread) | SystemThreadField::put(system_thread), 0});
    Chunk* const old = own_chunk.exchange(chunk, std::memory_order_relaxed);
    if (old != nullptr && depth == 1) unmap(old); // else the interrupted one may be about to write there
    return true;
}

int open_file(bool in_child) noexcept
{
    if (!expand_path(trace.pattern, trace.path)) return ENAMETOOLONG;
    const bool names_process = std::strstr(trace.pattern, "%p") != nullptr;
    if (in_child && !names_process && !append_process(trace.path)) return ENAMETOOLONG;
    const int error = trace.file.open(trace.path);
    if (error != EWOULDBLOCK) return error;
    // A parent, or another run, writes there.
    return append_process(trace.path) ? trace.file.open(trace.path) : ENAMETOOLONG;
}

/// The page of the owner word.
bool watch_forks() noexcept
{
    if (trace.owner != nullptr) return true;
    void* const page = platform::map_pages(4096);
    if (page == nullptr) return false;
    constexpr long wipe_on_fork = 18; // MADV_WIPEONFORK, Linux 4.14
    if (raw_syscall(SYS_madvise, reinterpret_cast<long>(page), 4096, wipe_on_fork) != 0) return false;
    trace.owner = static_cast<std::atomic<std::uint32_t>*>(page);
    return true;
}

int begin(std::uint32_t parent) noexcept
{
    trace.file.close(); // a child's copy of its parent's
    int error = open_file(parent != 0);
    if (error != 0) return error;
    auto* const header = static_cast<FileHeader*>(trace.file.map(0, header_bytes, error));
    if (header == nullptr) {
        trace.file.give_up();
        return error;
    }
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    header->version = version;
    header->record_bytes = sizeof(Record);
    header->chunk_bytes = chunk_bytes;
    header->process = static_cast<std::uint32_t>(raw_syscall(SYS_getpid));
    header->parent = parent;
    header->start_monotonic_ns = platform::monotonic_ns();
    header->start_realtime_ns =
        static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
    raw_syscall(SYS_readlink, reinterpret_cast<long>("/proc/self/exe"), reinterpret_cast<long>(header->program),
                sizeof header->program - 1);
    std::memcpy(header->magic, magic, sizeof magic);

    trace.start_ns = header->start_monotonic_ns;
    trace.chunks.store(0, std::memory_order_relaxed);
    trace.told.store(false, std::memory_order_relaxed);
    trace.header.store(header, std::memory_order_relaxed);
    trace.number.fetch_add(1, std::memory_order_relaxed);
    trace.owner->store(ours, std::memory_order_release);
    platform::slow_reasons.fetch_or(platform::tracing, std::memory_order_seq_cst);
    return 0;
}

void say_why_not(int error) noexcept
{
    platform::Line line;
    line << "heapmark: no trace is written to " << std::string_view(trace.pattern) << ": ";
    append_reason(line, error);
    line << "; check trace in HEAPMARK_OPTIONS\n";
    platform::write_all(STDERR_FILENO, line.text());
}

/// The parent's file must be left alone: the child gets one of its own. False when there can be none, or where a signal
/// handler came while it is being made.
bool is_ours() noexcept
{
    std::uint32_t owner = trace.owner->load(std::memory_order_acquire);
    if (owner == ours) [[likely]]
        return true;
    if (owner == child && trace.owner->compare_exchange_strong(owner, starting, std::memory_order_acquire)) {
        const std::uint32_t parent = trace.header.load(std::memory_order_relaxed)->process;
        trace.users.store(0, std::memory_order_relaxed); // of threads that are not here
        const int error = begin(parent);
        if (error == 0) return true;
        say_why_not(error);
        platform::slow_reasons.fetch_and(~std::uint32_t{platform::tracing}, std::memory_order_relaxed);
        trace.owner->store(ours, std::memory_order_release);
        return false;
    }
    while (depth == 1 && trace.owner->load(std::memory_order_acquire) == starting) raw_syscall(SYS_sched_yield);
    return trace.owner->load(std::memory_order_acquire) == ours;
}

Words words_of(Kind kind, const void* block, std::size_t bytes, std::uint32_t site) noexcept
{
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    return {KindField::put(static_cast<std::uint64_t>(kind)),
            AddressField::put(address & AddressField::max) | SiteLowField::put(site & SiteLowField::max),
            SizeField::put(bytes & SizeField::max) | SiteHighField::put(site >> 16)};
}

/// A record with the time, and before it what its stack is.
void write(ThreadState& thread, Words words, std::uint32_t site) noexcept
{
    const int saved_errno = errno;
    ++depth;
    if (is_ours()) {
        words[0] |= TimeField::put(now_ns());
        if (append(thread, words) && site > record::internal_site) define_site(thread, site);
    }
    --depth;
    // A thread that has ended, but for other destructors, keeps nothing.
    if (thread.phase == ThreadState::Phase::ending) end_thread();
    errno = saved_errno;
}

} // namespace

bool append(ThreadState& thread, const Words& words) noexcept
{
    for (;;) {
        Chunk* const chunk = own_chunk.load(std::memory_order_relaxed);
        if (is_current(chunk) && put(chunk, words)) return true;
        if (renew_chunk(thread)) continue;
        trace.header.load(std::memory_order_relaxed)->dropped.fetch_add(1, std::memory_order_relaxed);
        return false;
    }
}

std::uint32_t trace_number() noexcept { return trace.number.load(std::memory_order_relaxed); }

void write_allocation(ThreadState& thread, const void* block, std::size_t requested_bytes, std::uint32_t site,
                      bool was_resized) noexcept
{
    Words words = words_of(was_resized ? Kind::resize_end : Kind::allocate, block, requested_bytes, site);
    words[2] |= IgnoredField::put(thread.ignore_depth != 0 ? 1 : 0);
    write(thread, words, site);
}

void write_failed_resize(ThreadState& thread) noexcept { write(thread, words_of(Kind::resize_end, nullptr, 0, 0), 0); }

void write_release(ThreadState& thread, const void* block, std::uint32_t site, bool is_right) noexcept
{
    Words words = words_of(Kind::release, block, 0, site);
    words[2] |= WrongField::put(is_right ? 0 : 1);
    write(thread, words, site);
}

void write_resize(ThreadState& thread, const void* block, std::uint32_t site) noexcept
{
    write(thread, words_of(Kind::resize_begin, block, 0, site), site);
}

void end_thread() noexcept
{
    if (Chunk* const chunk = own_chunk.exchange(nullptr, std::memory_order_relaxed)) give_away(chunk);
}

int start(const char* pattern) noexcept
{
    stop();
    if (std::strlen(pattern) >= path_capacity) return ENAMETOOLONG;
    std::memcpy(trace.pattern, pattern, std::strlen(pattern) + 1);
    return watch_forks() ? begin(0) : ENOMEM;
}

void stop() noexcept
{
    if ((platform::slow_reasons.fetch_and(~std::uint32_t{platform::tracing}, std::memory_order_seq_cst) &
         platform::tracing) == 0)
        return;
    while (trace.users.load(std::memory_order_seq_cst) != 0) raw_syscall(SYS_sched_yield);
    if (trace.owner->load(std::memory_order_relaxed) != ours) return; // of a parent's trace
    trace.header.load(std::memory_order_relaxed)->clean = 1;
    trace.file.give_up();
}

void follow_options() noexcept
{
    static constinit std::atomic_flag followed;
    const std::string_view asked = platform::options().trace;
    if (asked.empty() || followed.test_and_set(std::memory_order_relaxed)) return;
    char pattern[path_capacity];                      // options end where the next one begins
    std::memcpy(pattern, asked.data(), asked.size()); // no longer than all of HEAPMARK_OPTIONS
    pattern[asked.size()] = '\0';
    if (const int error = start(pattern); error != 0) say_why_not(error);
}

std::uint64_t dropped_count() noexcept
{
    const FileHeader* const header = trace.header.load(std::memory_order_relaxed);
    return header == nullptr ? 0 : header->dropped.load(std::memory_order_relaxed);
}

} // namespace heapmark::trace
