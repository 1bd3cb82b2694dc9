// SPDX-License-Identifier: BSL-1.0
// Reads /proc/self/smaps (proc(5)): a line as in maps, then lines of facts, the last one flags. heapmark's own pages are
// told by theirs: all are left out of core dumps (dd) and have a word on huge pages (nh, hg); see pages_linux.cpp.
#include "platform/mapped_memory.hpp"

#include "platform/raw_syscall.hpp"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <string_view>
#include <sys/syscall.h>

namespace heapmark::platform {
namespace {

/// The next word of a line, taken off it.
std::string_view take_word(std::string_view& line) noexcept
{
    while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
    return word;
}

bool starts_with_one_of(std::string_view path) noexcept
{
    for (const std::string_view start : {"/dev/zero", "/dev/shm/", "/memfd:", "/SYSV", "[anon"})
        if (path.starts_with(start)) return true;
    return false;
}

/// Takes lines, and keeps the ranges that are looked for.
class Reader {
public:
    explicit Reader(PageVector<MemoryRange>& ranges) noexcept : ranges_(ranges) {}

    [[nodiscard]] bool take(std::string_view line) noexcept
    {
        if (line.empty()) return true;
        const bool is_fact = line.front() >= 'A' && line.front() <= 'Z';
        if (!is_fact) begin_range(line);
        constexpr std::string_view flags = "VmFlags:";
        return !line.starts_with(flags) || end_range(line.substr(flags.size()));
    }

    [[nodiscard]] bool saw_flags() const noexcept { return saw_flags_; }

private:
    void begin_range(std::string_view line) noexcept
    {
        const std::string_view addresses = take_word(line);
        const std::string_view permissions = take_word(line);
        for (int field = 0; field < 2; ++field) take_word(line); // offset, device
        const std::string_view inode = take_word(line);
        const std::string_view path = take_word(line);
        const std::size_t dash = addresses.find('-');
        wanted_ = dash != std::string_view::npos && permissions.starts_with("rw") &&
                  ((inode == "0" && path.empty()) || starts_with_one_of(path)) &&
                  number(addresses.substr(0, dash), range_.begin) && number(addresses.substr(dash + 1), range_.end);
    }

    static bool number(std::string_view text, std::uintptr_t& value) noexcept
    {
        return std::from_chars(text.data(), text.data() + text.size(), value, 16).ec == std::errc{};
    }

    bool end_range(std::string_view flags) noexcept
    {
        saw_flags_ = true;
        if (!wanted_) return true;
        bool undumped = false;
        bool huge_pages_said = false;
        for (std::string_view flag = take_word(flags); !flag.empty(); flag = take_word(flags)) {
            undumped = undumped || flag == "dd";
            huge_pages_said = huge_pages_said || flag == "nh" || flag == "hg";
        }
        wanted_ = false;
        return (undumped && huge_pages_said) || ranges_.push_back(range_);
    }

    PageVector<MemoryRange>& ranges_;
    MemoryRange range_{};
    bool wanted_ = false;
    bool saw_flags_ = false;
};

} // namespace

MappedState read_mapped_memory(PageVector<MemoryRange>& ranges) noexcept
{
    const long file =
        raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/smaps"), O_RDONLY | O_CLOEXEC);
    if (file < 0) return MappedState::untold;
    Reader reader(ranges);
    char buffer[4096];
    char line[512]; // of a longer one, which has a long path, the beginning
    std::size_t length = 0;
    bool good = true;
    for (;;) {
        const long count = raw_syscall(SYS_read, file, reinterpret_cast<long>(buffer), sizeof buffer);
        if (count == -EINTR) continue;
        if (count <= 0) break;
        for (long i = 0; i < count && good; ++i) {
            if (buffer[i] != '\n') {
                if (length < sizeof line) line[length++] = buffer[i];
                continue;
            }
            good = reader.take({line, length});
            length = 0;
        }
    }
    raw_syscall(SYS_close, file);
    if (!good) return MappedState::out_of_memory;
    return reader.saw_flags() ? MappedState::known : MappedState::untold;
}

} // namespace heapmark::platform
