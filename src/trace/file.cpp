// SPDX-License-Identifier: BSL-1.0
#include "trace/file.hpp"

#include "platform/raw_syscall.hpp"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace heapmark::trace {
namespace {

using platform::raw_syscall;

long as_long(const void* pointer) noexcept { return reinterpret_cast<long>(pointer); }

/// Out of the way of programs that count on the next number.
constexpr long high_descriptor = 700;

std::size_t write_process(char* at, char* end) noexcept
{
    return static_cast<std::size_t>(std::to_chars(at, end, raw_syscall(SYS_getpid)).ptr - at);
}

bool status_of(int descriptor, struct stat& status) noexcept
{
    // Not ::fstat: before glibc 2.33 it is a call into the static part of the library, and errno is touched.
    return raw_syscall(SYS_fstat, descriptor, as_long(&status)) == 0;
}

/// A longer file than the limit allows would cost a signal.
bool within_limit(std::uint64_t end) noexcept
{
    rlimit limit{};
    if (raw_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, as_long(&limit)) != 0) return true;
    return limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur;
}

/// For file systems without fallocate.
int write_zeros(int descriptor, std::uint64_t offset, std::size_t bytes) noexcept
{
    static constexpr char zeros[4096] = {};
    for (std::size_t done = 0; done < bytes;) {
        const std::size_t more = bytes - done < sizeof zeros ? bytes - done : sizeof zeros;
        const long written = raw_syscall(SYS_pwrite64, descriptor, as_long(zeros), static_cast<long>(more),
                                         static_cast<long>(offset + done));
        if (written < 0 && written != -EINTR) return static_cast<int>(-written);
        if (written > 0) done += static_cast<std::size_t>(written);
    }
    return 0;
}

int reserve(int descriptor, std::uint64_t offset, std::size_t bytes) noexcept
{
    if (!within_limit(offset + bytes)) return EFBIG;
    long result = -EINTR;
    while (result == -EINTR)
        result = raw_syscall(SYS_fallocate, descriptor, 0, static_cast<long>(offset), static_cast<long>(bytes));
    if (result == -EOPNOTSUPP || result == -ENOSYS) return write_zeros(descriptor, offset, bytes);
    return static_cast<int>(-result);
}

} // namespace

bool expand_path(const char* pattern, char* path) noexcept
{
    std::size_t size = 0;
    if (*pattern != '/') {
        const long length = raw_syscall(SYS_getcwd, as_long(path), path_capacity); // its zero byte counts
        if (length <= 0) return false;
        size = static_cast<std::size_t>(length) - 1;
        path[size++] = '/';
    }
    for (; *pattern != '\0'; ++pattern) {
        if (size + 32 > path_capacity) return false;
        if (pattern[0] == '%' && pattern[1] == 'p') {
            size += write_process(path + size, path + path_capacity);
            ++pattern;
        } else
            path[size++] = *pattern;
    }
    path[size] = '\0';
    return true;
}

bool append_process(char* path) noexcept
{
    const std::size_t size = std::strlen(path);
    if (size + 32 > path_capacity) return false;
    path[size] = '.';
    path[size + 1 + write_process(path + size + 1, path + path_capacity)] = '\0';
    return true;
}

void append_reason(platform::Line& line, int error) noexcept
{
    switch (error) {
    case ENOSPC: line << "no space left"; break;
    case EDQUOT: line << "the quota is used up"; break;
    case EFBIG: line << "the limit of file sizes is reached"; break;
    case EBADF: line << "the program has closed it, and its path leads elsewhere by now"; break;
    case EACCES:
    case EPERM: line << "permission denied"; break;
    case EROFS: line << "the file system is read-only"; break;
    case ENOENT:
    case ENOTDIR: line << "no such folder"; break;
    case EISDIR:
    case ENOTSUP: line << "that is no regular file"; break;
    case ENAMETOOLONG: line << "the path is too long"; break;
    case ENOMEM: line << "out of memory"; break;
    default: line << "error " << static_cast<std::uint64_t>(error);
    }
}

/// A descriptor of the file, out of the way; or a negative errno value.
long File::open_path(long more_flags) const noexcept
{
    const long opened =
        raw_syscall(SYS_openat, AT_FDCWD, as_long(path_), O_RDWR | O_CLOEXEC | O_NOCTTY | more_flags, 0666);
    if (opened < 0) return opened;
    const long high = raw_syscall(SYS_fcntl, opened, F_DUPFD_CLOEXEC, high_descriptor);
    if (high < 0) return opened;
    raw_syscall(SYS_close, opened);
    return high;
}

/// Opens the file and takes it for this process.
int File::take(long more_flags) noexcept
{
    const long opened = open_path(O_CREAT | more_flags);
    if (opened < 0) return static_cast<int>(-opened);
    const auto descriptor = static_cast<int>(opened);
    descriptor_.store(descriptor, std::memory_order_relaxed);
    struct stat status {};
    int error = 0;
    if (!status_of(descriptor, status) || !S_ISREG(status.st_mode))
        error = ENOTSUP;
    else if (raw_syscall(SYS_flock, descriptor, LOCK_EX | LOCK_NB) == -EWOULDBLOCK)
        error = EWOULDBLOCK;
    device_ = status.st_dev;
    inode_ = status.st_ino;
    size_ = static_cast<std::uint64_t>(status.st_size);
    if (error != 0) close();
    return error;
}

int File::open(const char* path) noexcept
{
    path_ = path;
    const int error = take(0);
    if (error != 0 || size_ == 0) return error;
    // Not emptied but replaced: a thread may be about to write into a mapped piece of it, which would then be no more.
    give_up();
    const long removed = raw_syscall(SYS_unlinkat, AT_FDCWD, as_long(path), 0);
    return removed < 0 ? static_cast<int>(-removed) : take(O_EXCL);
}

void File::give_up() noexcept
{
    const int descriptor = descriptor_.load(std::memory_order_relaxed);
    if (is_ours(descriptor)) raw_syscall(SYS_flock, descriptor, LOCK_UN);
    close();
}

void File::close() noexcept
{
    const int descriptor = descriptor_.exchange(-1, std::memory_order_relaxed);
    if (is_ours(descriptor)) raw_syscall(SYS_close, descriptor);
}

bool File::is_ours(int descriptor) const noexcept
{
    struct stat status {};
    return descriptor >= 0 && status_of(descriptor, status) && status.st_dev == device_ && status.st_ino == inode_;
}

/// A program may close descriptors that it did not open, and have the number for a file of its own. Then the file is opened
/// again; when several threads do so at once, a descriptor too many stays. Negative where the path leads elsewhere.
int File::descriptor() noexcept
{
    const int known = descriptor_.load(std::memory_order_relaxed);
    if (is_ours(known)) return known;
    const auto opened = static_cast<int>(open_path(0));
    if (opened < 0) return -1;
    if (!is_ours(opened)) {
        raw_syscall(SYS_close, opened);
        return -1;
    }
    descriptor_.store(opened, std::memory_order_relaxed);
    return opened;
}

void* File::map(std::uint64_t offset, std::size_t bytes, int& error) noexcept
{
    const int descriptor = this->descriptor();
    if (descriptor < 0) {
        error = EBADF;
        return nullptr;
    }
    error = reserve(descriptor, offset, bytes);
    if (error != 0) return nullptr;
    const long mapped = raw_syscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_POPULATE, descriptor, static_cast<long>(offset));
    if (mapped < 0 && mapped > -4096) {
        error = static_cast<int>(-mapped);
        return nullptr;
    }
    raw_syscall(SYS_madvise, mapped, static_cast<long>(bytes), MADV_DONTDUMP);
    return reinterpret_cast<void*>(mapped); // NOLINT(performance-no-int-to-ptr): what the system call returns
}

} // namespace heapmark::trace
