// SPDX-License-Identifier: BSL-1.0
#include "adapters/search.hpp"

#include <cstring>
#include <memory>
#include <optional>

namespace heapmark::adapters {

namespace {

/// Memory that is zero for a while.
class Blanked {
public:
    Blanked(char* begin, std::size_t bytes) : begin_(begin), bytes_(bytes), kept_(new char[bytes])
    {
        std::memcpy(kept_.get(), begin_, bytes_);
        std::memset(begin_, 0, bytes_);
        escape(begin_);
    }
    ~Blanked() { std::memcpy(begin_, kept_.get(), bytes_); }
    Blanked(const Blanked&) = delete;
    Blanked& operator=(const Blanked&) = delete;

private:
    char* begin_;
    std::size_t bytes_;
    std::unique_ptr<char[]> kept_;
};

} // namespace

// Frames have room that they do not use, and registers are kept in them, so words of frames that were there before are
// left between those in use. The callers' frames are not at work meanwhile, and come back as they were. Nothing of what
// is used here may lie in them, so the snapshot and the result have copies in this frame.
[[gnu::noinline]] Explanation search(const Snapshot& snapshot, const void* frames_end)
{
    if (frames_end == nullptr) return explain(snapshot);
    char* const caller = static_cast<char*>(__builtin_frame_address(0)) + 2 * sizeof(void*); // after the return address
    const auto bytes = static_cast<const char*>(frames_end) - caller;
    constexpr std::ptrdiff_t too_many = 1 << 20;
    if (bytes <= 0 || bytes > too_many) return explain(snapshot); // another stack

    const Snapshot asked = snapshot;
    std::optional<Explanation> why;
    {
        const Blanked callers(caller, static_cast<std::size_t>(bytes));
        why.emplace(explain(asked));
    }
    return std::move(*why);
}

} // namespace heapmark::adapters
