// SPDX-License-Identifier: BSL-1.0
// An allocator that signal handlers may enter at any moment, so that a test can interrupt heapmark anywhere: glibc's
// own is not. Chunks of powers of two on lock-free lists, cut from one large mapping.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>

namespace {

constexpr std::size_t region_bytes = std::size_t{16} << 30;
constexpr unsigned least_class = 6;
constexpr unsigned classes = 25;

struct alignas(16) Header {
    std::size_t usable;
    std::uint32_t size_class; ///< 0: never used again
    std::atomic<std::uint32_t> next;
};
static_assert(sizeof(Header) == 16);

std::atomic<char*> region{nullptr};
std::atomic<std::size_t> used{64};
std::atomic<std::uint64_t> lists[classes]; ///< index of the first chunk, and a tag above it against ABA

char* base() noexcept
{
    char* mapped = region.load();
    if (mapped != nullptr) return mapped;
    auto* made = static_cast<char*>(
        mmap(nullptr, region_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (!region.compare_exchange_strong(mapped, made)) {
        munmap(made, region_bytes);
        return mapped;
    }
    return made;
}

Header* at(std::uint32_t index) noexcept { return reinterpret_cast<Header*>(base() + std::size_t{index} * 16); }

Header* header_of(void* block) noexcept { return static_cast<Header*>(block) - 1; }

void* cut(std::size_t alignment, std::size_t usable, unsigned size_class) noexcept
{
    const std::size_t bytes = usable + sizeof(Header) + (alignment > 16 ? alignment : 0);
    const std::size_t offset = used.fetch_add((bytes + 15) & ~std::size_t{15});
    if (offset + bytes > region_bytes) {
        errno = ENOMEM;
        return nullptr;
    }
    auto address = reinterpret_cast<std::uintptr_t>(base() + offset + sizeof(Header));
    address = (address + alignment - 1) & ~(alignment - 1);
    auto* block = reinterpret_cast<void*>(address); // NOLINT
    header_of(block)->usable = usable;
    header_of(block)->size_class = size_class;
    return block;
}

} // namespace

extern "C" {

extern const int safe_in_handlers = 1; // for the test to see that this library is there

void* malloc(std::size_t size)
{
    if (size > region_bytes) {
        errno = ENOMEM;
        return nullptr;
    }
    const unsigned size_class = std::max(least_class, static_cast<unsigned>(std::bit_width(size + sizeof(Header) - 1)));
    if (size_class >= classes) return cut(16, size, 0);
    std::uint64_t head = lists[size_class].load();
    while (static_cast<std::uint32_t>(head) != 0) {
        Header* first = at(static_cast<std::uint32_t>(head));
        const std::uint64_t next = ((head >> 32) + 1) << 32 | first->next.load();
        if (lists[size_class].compare_exchange_weak(head, next)) return first + 1;
    }
    return cut(16, (std::size_t{1} << size_class) - sizeof(Header), size_class);
}

void free(void* block)
{
    if (block == nullptr || header_of(block)->size_class == 0) return;
    Header* header = header_of(block);
    const auto index = static_cast<std::uint32_t>((reinterpret_cast<char*>(header) - base()) / 16);
    std::uint64_t head = lists[header->size_class].load();
    do header->next.store(static_cast<std::uint32_t>(head));
    while (!lists[header->size_class].compare_exchange_weak(head, ((head >> 32) + 1) << 32 | index));
}

void* calloc(std::size_t count, std::size_t size)
{
    void* block = malloc(count * size);
    if (block != nullptr) std::memset(block, 0, count * size);
    return block;
}

void* realloc(void* block, std::size_t size)
{
    if (block == nullptr) return malloc(size);
    if (size <= header_of(block)->usable) return block;
    void* moved = malloc(size);
    if (moved == nullptr) return nullptr;
    std::memcpy(moved, block, header_of(block)->usable);
    free(block);
    return moved;
}

void* memalign(std::size_t alignment, std::size_t size) { return cut(alignment < 16 ? 16 : alignment, size, 0); }
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
std::size_t malloc_usable_size(void* block) { return block == nullptr ? 0 : header_of(block)->usable; }

} // extern "C"
