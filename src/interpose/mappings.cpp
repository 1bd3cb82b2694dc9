// SPDX-License-Identifier: BSL-1.0
// mmap and its like: definitions that forward, and record what became mapped where HEAPMARK_OPTIONS=mappings=1 asks for it.
// Weak, so that a program may define them itself.
#include "interpose/anchors.hpp"
#include "interpose/hooks.hpp"
#include "interpose/real_function.hpp"

#include "base/bits.hpp"
#include "platform/modules.hpp"
#include "platform/raw_syscall.hpp"
#include "record/mappings.hpp"

#include <bit>
#include <cerrno>
#include <cstdarg>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define HEAPMARK_WEAK_EXPORT __attribute__((weak)) HEAPMARK_EXPORT

using namespace heapmark;
using namespace heapmark::interpose;

namespace heapmark::interpose {

const char mappings_anchor = 0;

namespace {

using Mmap = void*(void*, std::size_t, int, int, int, off_t);
using Munmap = int(void*, std::size_t);
using Mremap = void*(void*, std::size_t, std::size_t, int, ...);
using Shmat = void*(int, const void*, int);
using Shmdt = int(const void*);
constinit RealFunction<Mmap> next_mmap("mmap");
constinit RealFunction<Munmap> next_munmap("munmap");
constinit RealFunction<Mremap> next_mremap("mremap");
constinit RealFunction<Shmat> next_shmat("shmat");
constinit RealFunction<Shmdt> next_shmdt("shmdt");

constexpr std::uint8_t page_shift = 12;
constexpr std::size_t page_bytes = std::size_t{1} << page_shift;
constexpr int dont_unmap = 4; ///< MREMAP_DONTUNMAP, Linux 5.7; the new address is a hint then, as mmap's

std::uintptr_t number(const void* address) noexcept { return reinterpret_cast<std::uintptr_t>(address); }

std::uint8_t shift_of(std::uint64_t bytes) noexcept
{
    return std::has_single_bit(bytes) && bytes >= page_bytes ? static_cast<std::uint8_t>(std::countr_zero(bytes))
                                                             : page_shift;
}

/// Of the pages of a file: huge ones where it lies on hugetlbfs.
std::uint8_t file_page_shift(int file) noexcept
{
    struct statfs system {};
    const long failed = platform::raw_syscall(SYS_fstatfs, file, reinterpret_cast<long>(&system));
    return failed == 0 && system.f_type == HUGETLBFS_MAGIC ? shift_of(static_cast<std::uint64_t>(system.f_bsize))
                                                           : page_shift;
}

/// Of the huge pages that are given to who states no size: a file of theirs knows it.
std::uint8_t default_huge_page_shift() noexcept
{
    static constinit std::atomic<std::uint8_t> known{0};
    std::uint8_t shift = known.load(std::memory_order_relaxed);
    if (shift != 0) return shift;
    const long file =
        platform::raw_syscall(SYS_memfd_create, reinterpret_cast<long>("huge"), MFD_HUGETLB | MFD_CLOEXEC);
    shift = file < 0 ? std::uint8_t{21} : file_page_shift(static_cast<int>(file));
    if (file >= 0) platform::raw_syscall(SYS_close, file);
    known.store(shift, std::memory_order_relaxed);
    return shift;
}

/// mmap(2): the size is rounded up to whole pages of that.
std::uint8_t page_shift_of(int flags, int file) noexcept
{
    if ((flags & MAP_ANONYMOUS) == 0) return file_page_shift(file);
    if ((flags & MAP_HUGETLB) == 0) return page_shift;
    const int stated = flags >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;
    return stated != 0 ? static_cast<std::uint8_t>(stated) : default_huge_page_shift();
}

/// Whether the system takes these for whole pages.
bool is_range(std::uintptr_t begin, std::size_t bytes) noexcept
{
    return begin % page_bytes == 0 && bytes < ~begin - page_bytes;
}

/// Whether the allocator underneath maps memory for itself. Told by the caller's module, since some do so in threads of their
/// own. glibc's does not come by here; and who seems to be glibc may be a function that glibc called, and that leaves by a
/// jump to mmap.
bool is_allocators(const void* frame) noexcept
{
    if (underlying.glibc) return false;
    const platform::Module* caller = platform::module_at(capture::caller_of(frame).pc);
    return caller != nullptr && caller == platform::module_at(reinterpret_cast<std::uintptr_t>(underlying.malloc));
}

/// What is to be recorded of a mapping that is made now. False: it is not the program's. Keeps errno.
bool begin_birth(Api api, const void* frame, std::uint8_t shift, record::MappingBirth& birth) noexcept
{
    platform::ThreadState& thread = platform::thread_state;
    if (thread.phase == platform::ThreadState::Phase::unseen) attach_thread(thread, 0);
    if (thread.guard_depth != 0 || is_allocators(frame)) return false;
    birth.generation = record::clock.generation();
    birth.thread = thread.thread;
    birth.site = caller_site(thread, frame, api);
    birth.api = api;
    birth.ignored = thread.ignore_depth != 0;
    birth.page_shift = shift;
    return birth.site != record::internal_site;
}

/// Records what a function has just mapped. Keeps errno.
void map(const void* address, std::size_t bytes, std::uint8_t shift, Api api, const void* frame) noexcept
{
    record::MappingBirth birth;
    const std::uintptr_t begin = number(address);
    if (begin_birth(api, frame, shift, birth))
        record::add_mapping(begin, bytes, birth);
    else // what was there is no more
        record::Unmapping(begin, begin + base::round_up(bytes, std::size_t{1} << shift)).done();
}

/// A failed call that may have unmapped the place it was to map to (mmap(2), "MAP_FIXED").
void tried(const void* address, std::size_t bytes) noexcept
{
    const std::uintptr_t begin = number(address);
    if (is_range(begin, bytes)) record::Unmapping(begin, begin + base::round_up(bytes, page_bytes)).settle();
}

void* recorded_mmap(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset,
                    const void* frame) noexcept
{
    void* const mapped = next_mmap.get()(address, bytes, protection, flags, file, offset);
    if (mapped != MAP_FAILED)
        map(mapped, bytes, page_shift_of(flags, file), Api::mmap, frame);
    else if ((flags & MAP_FIXED) != 0)
        tried(address, bytes);
    return mapped;
}

int recorded_munmap(void* address, std::size_t bytes) noexcept
{
    const std::uintptr_t begin = number(address);
    if (!is_range(begin, bytes) || bytes == 0) return next_munmap.get()(address, bytes); // EINVAL
    record::Unmapping unmapping(begin, begin + base::round_up(bytes, page_bytes));
    const int result = next_munmap.get()(address, bytes);
    if (result != 0) unmapping.settle();
    return result;
}

/// As realloc: the old mapping ends, and what comes of it is born here.
void* recorded_mremap(void* old, std::size_t old_bytes, std::size_t bytes, int flags, void* address,
                      const void* frame) noexcept
{
    using record::Unmapping;
    const bool is_fixed = (flags & MREMAP_FIXED) != 0;
    const std::uintptr_t begin = number(old);
    const std::uintptr_t target = is_fixed ? number(address) : 0;
    if (!is_range(begin, old_bytes) || (is_fixed && !is_range(target, bytes)))
        return next_mremap.get()(old, old_bytes, bytes, flags, address); // EINVAL
    Unmapping unmapping(Unmapping::Old{begin, old_bytes}); // a size of 0 asks for the same pages once more
    Unmapping replaced(target, is_fixed ? target + base::round_up(bytes, page_bytes) : target);
    void* const mapped = next_mremap.get()(old, old_bytes, bytes, flags, address);

    const bool failed = mapped == MAP_FAILED;
    const bool stays = (flags & dont_unmap) != 0;
    if (!failed && (unmapping.is_whole() || unmapping.is_empty() || bytes > old_bytes)) {
        if (stays) unmapping.settle();
        map(mapped, bytes, unmapping.page_shift(), Api::mremap, frame);
        return mapped;
    }
    replaced.settle();
    // Gaps between several mappings: the system shrinks them together, and moves them together since Linux 6.17; where it
    // refuses to, it may have moved some.
    record::MappingBirth birth;
    const bool may_have_moved = !failed || (is_fixed && bytes == old_bytes);
    if (may_have_moved && begin_birth(Api::mremap, frame, unmapping.page_shift(), birth))
        unmapping.moved({begin, failed ? target : number(mapped), bytes}, birth,
                        failed  ? Unmapping::Left::some
                        : stays ? Unmapping::Left::all
                                : Unmapping::Left::nothing);
    else if (failed)
        unmapping.settle();
    return mapped;
}

void* recorded_shmat(int segment, const void* address, int flags, const void* frame) noexcept
{
    void* const mapped = next_shmat.get()(segment, address, flags);
    if (mapped == reinterpret_cast<void*>(-1)) return mapped; // NOLINT(performance-no-int-to-ptr)
    const int saved_errno = errno;
    shmid_ds status{};
    if (shmctl(segment, IPC_STAT, &status) == 0)
        map(mapped, status.shm_segsz, page_shift, Api::shmat, frame);
    else
        record::count_unrecorded_mapping(); // it may be written to, but not be asked about
    errno = saved_errno;
    return mapped;
}

/// A result on its way out: not by a jump, which would give up the frame that the recording is told of.
template <class Result>
[[gnu::always_inline]] inline Result returned(Result result) noexcept
{
    __asm__ volatile("");
    return result;
}

} // namespace

} // namespace heapmark::interpose

extern "C" {

HEAPMARK_WEAK_EXPORT void* mmap(void* address, std::size_t bytes, int protection, int flags, int file,
                                off_t offset) noexcept
{
    if (!record::records_mappings()) [[likely]]
        return next_mmap.get()(address, bytes, protection, flags, file, offset);
    return returned(recorded_mmap(address, bytes, protection, flags, file, offset, HEAPMARK_FRAME()));
}

HEAPMARK_WEAK_EXPORT void* mmap64(void* address, std::size_t bytes, int protection, int flags, int file,
                                  off64_t offset) noexcept
{
    static_assert(sizeof(off_t) == sizeof(off64_t));
    if (!record::records_mappings()) [[likely]]
        return next_mmap.get()(address, bytes, protection, flags, file, offset);
    return returned(recorded_mmap(address, bytes, protection, flags, file, offset, HEAPMARK_FRAME()));
}

HEAPMARK_WEAK_EXPORT int munmap(void* address, std::size_t bytes) noexcept
{
    if (!record::records_mappings()) [[likely]]
        return next_munmap.get()(address, bytes);
    return recorded_munmap(address, bytes);
}

HEAPMARK_WEAK_EXPORT void* mremap(void* old, std::size_t old_bytes, std::size_t bytes, int flags, ...) noexcept
{
    void* address = nullptr;
    if ((flags & (MREMAP_FIXED | dont_unmap)) != 0) {
        va_list arguments;
        va_start(arguments, flags);
        address = va_arg(arguments, void*);
        va_end(arguments);
    }
    if (!record::records_mappings()) [[likely]]
        return next_mremap.get()(old, old_bytes, bytes, flags, address);
    return returned(recorded_mremap(old, old_bytes, bytes, flags, address, HEAPMARK_FRAME()));
}

HEAPMARK_WEAK_EXPORT void* shmat(int segment, const void* address, int flags) noexcept
{
    if (!record::records_mappings()) [[likely]]
        return next_shmat.get()(segment, address, flags);
    return returned(recorded_shmat(segment, address, flags, HEAPMARK_FRAME()));
}

HEAPMARK_WEAK_EXPORT int shmdt(const void* address) noexcept
{
    if (!record::records_mappings()) [[likely]]
        return next_shmdt.get()(address);
    record::Unmapping unmapping(record::Unmapping::Segment{reinterpret_cast<std::uintptr_t>(address)});
    const int result = next_shmdt.get()(address);
    if (result != 0) unmapping.settle();
    return result;
}

} // extern "C"
