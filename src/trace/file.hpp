// SPDX-License-Identifier: BSL-1.0
// The file under a trace: making it, making it longer, and not mistaking another file for it. Raw system calls; no heap,
// no lock, errno kept.
#pragma once

#include "platform/raw_write.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heapmark::trace {

inline constexpr std::size_t path_capacity = 4096;

/// Puts `pattern` into `path`, absolute, %p being the process id. False when it is too long.
bool expand_path(const char* pattern, char* path) noexcept;
/// Appends "." and the process id.
bool append_process(char* path) noexcept;

/// An errno value of these functions, in words, without the C library's, which may allocate.
void append_reason(platform::Line& line, int error) noexcept;

class File {
public:
    /// Makes the file, or a new one in its place. EWOULDBLOCK: another process is writing its trace there. Returns an errno
    /// value or 0. The path has to stay as long as the file is open.
    int open(const char* path) noexcept;
    /// Others may write there from now on. Closing alone leaves the file taken, as long as pieces of it are mapped.
    void give_up() noexcept;
    void close() noexcept;

    /// Maps a piece of the file, longer by it if need be, and zero where it is new. nullptr without space or memory, with
    /// the errno value in `error`. The file's blocks are there then: writing to them cannot fail.
    void* map(std::uint64_t offset, std::size_t bytes, int& error) noexcept;

private:
    long open_path(long more_flags) const noexcept;
    int take(long more_flags) noexcept;
    [[nodiscard]] bool is_ours(int descriptor) const noexcept;
    int descriptor() noexcept;

    const char* path_ = nullptr;
    std::atomic<int> descriptor_{-1};
    std::uint64_t device_ = 0;
    std::uint64_t inode_ = 0;
    std::uint64_t size_ = 0; ///< when it was opened
};

} // namespace heapmark::trace
