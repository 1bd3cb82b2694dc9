// SPDX-License-Identifier: BSL-1.0
// Finding the allocator underneath, and judging addresses it may have handed out.
#include "interpose/underlying.hpp"

#include "base/bits.hpp"
#include "platform/modules.hpp"
#include "platform/next_symbol.hpp"
#include "platform/raw_write.hpp"
#include "platform/safe_read.hpp"
#include "platform/slow_paths.hpp"

#include <atomic>
#include <cstring>

namespace heapmark::interpose {
namespace {

template <class Function>
void set(Function& target, const link_map& where, const char* name) noexcept
{
    void* address = platform::function_in(where, name);
    if (address == nullptr) {
        platform::Line line;
        platform::die(line << "the allocator in " << std::string_view(where.l_name) << " defines malloc but not "
                           << name << "; heapmark needs all of the malloc family from one library");
    }
    target = reinterpret_cast<Function>(address);
}

void find_underlying() noexcept
{
    const link_map* where = nullptr;
    if (platform::next_function("malloc", where) == nullptr) {
        platform::Line line;
        platform::die(line << "no malloc found below heapmark's own; heapmark needs a dynamically linked C library");
    }
    Underlying found{};
    set(found.malloc, *where, "malloc");
    set(found.free, *where, "free");
    set(found.calloc, *where, "calloc");
    set(found.realloc, *where, "realloc");
    set(found.memalign, *where, "memalign");
    set(found.aligned_alloc, *where, "aligned_alloc");
    set(found.usable_size, *where, "malloc_usable_size");
    // Not by its allocator's names: tcmalloc and mimalloc define __libc_malloc as well.
    found.glibc = platform::function_in(*where, "gnu_get_libc_version") != nullptr;
    underlying = found;
    if (found.glibc)
        platform::slow_reasons.fetch_and(~std::uint32_t{platform::foreign_allocator}, std::memory_order_relaxed);
}

void* first_malloc(std::size_t size)
{
    find_underlying();
    return underlying.malloc(size);
}
void first_free(void* block) noexcept
{
    find_underlying();
    underlying.free(block);
}
void* first_calloc(std::size_t count, std::size_t size)
{
    find_underlying();
    return underlying.calloc(count, size);
}
void* first_realloc(void* block, std::size_t size)
{
    find_underlying();
    return underlying.realloc(block, size);
}
void* first_memalign(std::size_t alignment, std::size_t size)
{
    find_underlying();
    return underlying.memalign(alignment, size);
}
void* first_aligned_alloc(std::size_t alignment, std::size_t size)
{
    find_underlying();
    return underlying.aligned_alloc(alignment, size);
}
std::size_t first_usable_size(void* block)
{
    find_underlying();
    return underlying.usable_size(block);
}

/// glibc's malloc.c: what its own free() demands of a chunk, and that the next one calls it in use.
bool looks_like_glibc_chunk(std::uintptr_t block) noexcept
{
    constexpr std::size_t previous_in_use = 1;
    constexpr std::size_t mapped = 2;
    std::size_t header[2]; // size of the previous chunk or offset of a mapped one; size and flags
    if (!platform::safe_read(reinterpret_cast<const void*>(block - sizeof header), header, sizeof header)) // NOLINT
        return false;
    const std::size_t size = header[1] & ~std::size_t{7};
    if (size < 32 || size % 16 != 0 || size > (std::size_t{1} << 46)) return false;
    if ((header[1] & mapped) != 0) return (block - 16 - header[0]) % 4096 == 0 && (header[0] + size) % 4096 == 0;

    std::size_t next_header = 0;
    if (!platform::safe_read(reinterpret_cast<const void*>(block + size - 8), &next_header,
                             sizeof next_header)) // NOLINT
        return false;
    const std::size_t next_size = next_header & ~std::size_t{7};
    return (next_header & previous_in_use) != 0 && next_size >= 16 && next_size < (std::size_t{1} << 46);
}

void (*free_underneath)(void*) noexcept = nullptr;
constinit std::atomic<std::size_t> kept_bytes{0};

void keep(void* block) noexcept
{
    constexpr std::size_t kept_bytes_max = std::size_t{4} << 20;
    constexpr std::size_t block_bytes_max = std::size_t{64} << 10;
    if (block == nullptr) return;
    const std::size_t bytes = usable_bytes(block, block_bytes_max);
    if (bytes > block_bytes_max || kept_bytes.load(std::memory_order_relaxed) > kept_bytes_max)
        free_underneath(block);
    else
        kept_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

} // namespace

constinit Underlying underlying = {first_malloc,   first_free,          first_calloc,      first_realloc,
                                   first_memalign, first_aligned_alloc, first_usable_size, false};

void keep_released(bool yes) noexcept
{
    if (free_underneath == nullptr) {
        underlying.free(nullptr); // so that it is known
        free_underneath = underlying.free;
    }
    void (*const wanted)(void*) noexcept = yes ? keep : free_underneath;
    if (underlying.free == wanted) return; // each test asks, and all threads read that cache line
    __atomic_store_n(&underlying.free, wanted, __ATOMIC_RELAXED);
}

std::size_t asked_usable_bytes(void* block, std::size_t requested_bytes) noexcept
{
    // tcmalloc's malloc_usable_size makes an object with operator new at its first call, and so comes back here.
    static constinit thread_local bool asking __attribute__((tls_model("initial-exec"))) = false;
    if (asking) return base::round_up(requested_bytes, 8); // entries keep small sizes in eighths
    asking = true;
    const std::size_t usable = underlying.usable_size(block);
    asking = false;
    return usable;
}

bool may_own(const void* block) noexcept
{
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    if (address % 8 != 0 || platform::module_at(address) != nullptr) return false;
    if (!underlying.glibc) return true;
    return address % 16 == 0 && looks_like_glibc_chunk(address);
}

} // namespace heapmark::interpose
