// SPDX-License-Identifier: BSL-1.0
// An independent count for programs run under the preload library. Preloaded after heapmark, it is the allocator
// underneath: it hands out the C library's blocks, keeps its own plain table of them, and when the process ends writes
// what is live by its table and by heapmark_counts() to the file TALLY_OUTPUT.<process id>. It shares no code with
// heapmark and allocates nothing.
#include <heapmark/heapmark.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

template <class Function>
Function* next(const char* name)
{
    void* address = dlsym(RTLD_NEXT, name);
    if (address == nullptr) _exit(121);
    Function* function = nullptr;
    std::memcpy(&function, &address, sizeof function);
    return function;
}

// A plain hash table with chains under one lock.

struct Node {
    std::uintptr_t block;
    std::size_t bytes;
    Node* next;
    bool for_a_thread; ///< the C library's, made inside pthread_create: heapmark leaves these out
};

constexpr std::size_t bucket_count = std::size_t{1} << 18;
constexpr std::size_t nodes_a_time = 4096;

Node* buckets[bucket_count];
Node* spare = nullptr;
std::int64_t live_blocks = 0;
std::int64_t live_bytes = 0;
std::int64_t handed_out = 0;
std::int64_t strangers = 0; ///< released without having been handed out
std::atomic_flag lock = ATOMIC_FLAG_INIT;
__attribute__((tls_model("initial-exec"))) thread_local int in_thread_creation = 0;

void acquire()
{
    while (lock.test_and_set(std::memory_order_acquire)) sched_yield();
}
void release() { lock.clear(std::memory_order_release); }

Node** bucket_of(std::uintptr_t block) { return &buckets[(block >> 4) * 0x9e3779b97f4a7c15U >> 46]; }

void add(void* block, std::size_t bytes)
{
    if (block == nullptr) return;
    acquire();
    if (spare == nullptr) {
        void* pages =
            mmap(nullptr, nodes_a_time * sizeof(Node), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) _exit(122);
        for (std::size_t i = 0; i < nodes_a_time; ++i) {
            Node* node = static_cast<Node*>(pages) + i;
            node->next = spare;
            spare = node;
        }
    }
    Node* node = spare;
    spare = node->next;
    Node** bucket = bucket_of(reinterpret_cast<std::uintptr_t>(block));
    *node = {reinterpret_cast<std::uintptr_t>(block), bytes, *bucket, in_thread_creation != 0};
    *bucket = node;
    ++handed_out;
    if (!node->for_a_thread) {
        ++live_blocks;
        live_bytes += static_cast<std::int64_t>(bytes);
    }
    release();
}

/// Takes the block out of the table.
void remove(void* block)
{
    acquire();
    Node** link = bucket_of(reinterpret_cast<std::uintptr_t>(block));
    while (*link != nullptr && (*link)->block != reinterpret_cast<std::uintptr_t>(block)) link = &(*link)->next;
    Node* node = *link;
    if (node == nullptr) {
        ++strangers;
    } else {
        if (!node->for_a_thread) {
            --live_blocks;
            live_bytes -= static_cast<std::int64_t>(node->bytes);
        }
        *link = node->next;
        node->next = spare;
        spare = node;
    }
    release();
}

/// Runs with the destructors of the program's libraries. Where other threads still run, the two counts are taken again
/// until they agree or patience ends.
__attribute__((destructor)) void tell()
{
    const char* output = std::getenv("TALLY_OUTPUT");
    void* address = dlsym(RTLD_DEFAULT, "heapmark_counts");
    if (output == nullptr || address == nullptr) return;
    heapmark_totals (*counts)(heapmark_generation) = nullptr;
    std::memcpy(&counts, &address, sizeof counts);

    heapmark_totals theirs{};
    std::int64_t blocks = 0;
    std::int64_t bytes = 0;
    for (int attempt = 0; attempt < 100; ++attempt) {
        theirs = counts(0);
        acquire();
        blocks = live_blocks;
        bytes = live_bytes;
        release();
        if (theirs.blocks == static_cast<std::uint64_t>(blocks) && theirs.bytes == static_cast<std::uint64_t>(bytes))
            break;
        sched_yield();
    }
    char text[512];
    std::snprintf(text, sizeof text, "%s.%d", output, static_cast<int>(getpid()));
    const int file = open(text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const int length = std::snprintf(
        text, sizeof text, "tally %lld %lld heapmark %llu %llu handed_out %lld strangers %lld name %s\n",
        static_cast<long long>(blocks), static_cast<long long>(bytes), static_cast<unsigned long long>(theirs.blocks),
        static_cast<unsigned long long>(theirs.bytes), static_cast<long long>(handed_out),
        static_cast<long long>(strangers), program_invocation_short_name);
    if (file < 0 || write(file, text, static_cast<std::size_t>(length)) != length) _exit(123);
    close(file);
}

__attribute__((constructor)) void hold_lock_across_fork() { pthread_atfork(acquire, release, release); }

} // namespace

#define TALLY_EXPORT extern "C" __attribute__((visibility("default")))

// Whoever defines this is the C library, as heapmark judges: it then rounds no request up, and the bytes that arrive
// here are those that the program asked for. Rightly so, for the chunks are the C library's.
TALLY_EXPORT const char* gnu_get_libc_version()
{
    static auto* const real = next<const char*()>("gnu_get_libc_version");
    return real();
}

TALLY_EXPORT void* malloc(std::size_t size)
{
    static auto* const real = next<void*(std::size_t)>("__libc_malloc");
    void* block = real(size);
    add(block, size);
    return block;
}

TALLY_EXPORT void free(void* block)
{
    static auto* const real = next<void(void*)>("__libc_free");
    if (block == nullptr) return;
    remove(block);
    real(block);
}

TALLY_EXPORT void* calloc(std::size_t count, std::size_t size)
{
    static auto* const real = next<void*(std::size_t, std::size_t)>("__libc_calloc");
    void* block = real(count, size);
    add(block, count * size);
    return block;
}

TALLY_EXPORT void* realloc(void* block, std::size_t size)
{
    static auto* const real = next<void*(void*, std::size_t)>("__libc_realloc");
    if (block == nullptr) return malloc(size);
    // Out of the table before the C library may give the address to another thread; a failure puts it back.
    acquire();
    Node* node = *bucket_of(reinterpret_cast<std::uintptr_t>(block));
    while (node != nullptr && node->block != reinterpret_cast<std::uintptr_t>(block)) node = node->next;
    const std::size_t old_bytes = node == nullptr ? 0 : node->bytes;
    release();
    remove(block);
    void* resized = real(block, size);
    if (resized != nullptr)
        add(resized, size);
    else if (size != 0)
        add(block, old_bytes);
    return resized;
}

TALLY_EXPORT void* memalign(std::size_t alignment, std::size_t size)
{
    static auto* const real = next<void*(std::size_t, std::size_t)>("__libc_memalign");
    void* block = real(alignment, size);
    add(block, size);
    return block;
}

TALLY_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }

TALLY_EXPORT std::size_t malloc_usable_size(void* block)
{
    static auto* const real = next<std::size_t(void*)>("malloc_usable_size");
    return real(block);
}

TALLY_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                                void* argument)
{
    static auto* const real = next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
    ++in_thread_creation;
    const int error = real(thread, attributes, function, argument);
    --in_thread_creation;
    return error;
}
