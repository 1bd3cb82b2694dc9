// SPDX-License-Identifier: BSL-1.0
// Reads /proc/self/maps: "begin-end rwxp offset major:minor inode   path" (proc(5)).
#include "platform/memory_regions.hpp"

#include "platform/raw_syscall.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/syscall.h>

namespace heapmark::platform {
namespace {

/// Takes the file a byte at a time; lines may lie across reads.
class Parser {
public:
    explicit Parser(PageVector<MemoryRegion>& regions) noexcept : regions_(regions) {}

    [[nodiscard]] bool take(char c) noexcept
    {
        if (c == '\n') {
            region_.anonymous = inode_ == 0;
            const bool kept = regions_.push_back(region_);
            region_ = {};
            field_ = Field::begin;
            inode_ = 0;
            return kept;
        }
        switch (field_) {
        case Field::begin: number(region_.begin, c, '-'); break;
        case Field::end: number(region_.end, c, ' '); break;
        case Field::permissions:
            if (c == 'r') region_.readable = true;
            if (c == 'w') region_.writable = true;
            if (c == 's') region_.shared = true;
            if (c == ' ') field_ = Field::offset;
            break;
        case Field::offset:
            if (c == ' ') field_ = Field::device;
            break;
        case Field::device:
            if (c == ' ') field_ = Field::inode;
            break;
        case Field::inode:
            if (c >= '0' && c <= '9')
                inode_ = inode_ * 10 + static_cast<std::uint64_t>(c - '0');
            else
                field_ = Field::path;
            break;
        case Field::path: break;
        }
        return true;
    }

private:
    enum class Field : std::uint8_t { begin, end, permissions, offset, device, inode, path };

    void number(std::uintptr_t& value, char c, char last) noexcept
    {
        if (c == last)
            field_ = static_cast<Field>(static_cast<int>(field_) + 1);
        else
            value = value << 4 | static_cast<std::uintptr_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    }

    PageVector<MemoryRegion>& regions_;
    MemoryRegion region_{};
    std::uint64_t inode_ = 0;
    Field field_ = Field::begin;
};

} // namespace

bool read_memory_regions(PageVector<MemoryRegion>& regions) noexcept
{
    regions.clear();
    const long file =
        raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/maps"), O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    Parser parser(regions);
    char buffer[4096];
    bool good = true;
    for (;;) {
        const long count = raw_syscall(SYS_read, file, reinterpret_cast<long>(buffer), sizeof buffer);
        if (count == -EINTR) continue;
        if (count < 0) good = false;
        if (count <= 0) break;
        for (long i = 0; i < count && good; ++i) good = parser.take(buffer[i]);
        if (!good) break;
    }
    raw_syscall(SYS_close, file);
    return good && !regions.empty();
}

const MemoryRegion* region_at(const PageVector<MemoryRegion>& regions, std::uintptr_t address) noexcept
{
    const MemoryRegion* after =
        std::upper_bound(regions.begin(), regions.end(), address,
                         [](std::uintptr_t value, const MemoryRegion& region) { return value < region.begin; });
    if (after == regions.begin()) return nullptr;
    const MemoryRegion* found = after - 1;
    return address < found->end ? found : nullptr;
}

} // namespace heapmark::platform
