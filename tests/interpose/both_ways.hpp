// SPDX-License-Identifier: BSL-1.0
// The C API for programs that are built both ways: with heapmark linked in, and without it for a run under the preload
// library, where its functions are looked up.
#pragma once

#include "expect.hpp"

#include <heapmark/heapmark.h>

#include <dlfcn.h>

#ifdef HEAPMARK_TEST_PRELOADED

template <class Function>
Function* c_api(const char* name) noexcept
{
    void* address = dlsym(RTLD_DEFAULT, name);
    if (address == nullptr) {
        dprintf(STDERR_FILENO, "%s not found: is the preload library in force?\n", name);
        _exit(1);
    }
    return reinterpret_cast<Function*>(address);
}

inline std::uint64_t mark_now() noexcept
{
    static const auto mark = c_api<decltype(heapmark_mark)>("heapmark_mark");
    return mark(nullptr);
}
inline heapmark_totals totals_since(std::uint64_t generation) noexcept
{
    static const auto counts = c_api<decltype(heapmark_counts)>("heapmark_counts");
    return counts(generation);
}
inline bool forget_block(const void* block) noexcept
{
    static const auto forget = c_api<decltype(heapmark_forget)>("heapmark_forget");
    return forget(block) == 1;
}
inline bool is_active() noexcept { return c_api<decltype(heapmark_active)>("heapmark_active")() == 1; }

#else

inline std::uint64_t mark_now() noexcept { return heapmark_mark(nullptr); }
inline heapmark_totals totals_since(std::uint64_t generation) noexcept { return heapmark_counts(generation); }
inline bool forget_block(const void* block) noexcept { return heapmark_forget(block) == 1; }
inline bool is_active() noexcept { return heapmark_active() == 1; }

#endif

/// What is alive of all that was born since the object was made.
class Since {
public:
    Since() noexcept
    {
        static_cast<void>(totals_since(0)); // looks the functions up before the mark
        generation_ = mark_now();
    }
    [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
    [[nodiscard]] std::uint64_t blocks() const noexcept { return totals_since(generation_).blocks; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return totals_since(generation_).bytes; }
    [[nodiscard]] bool holds(std::uint64_t blocks, std::uint64_t bytes) const noexcept
    {
        const heapmark_totals now = totals_since(generation_);
        if (now.blocks == blocks && now.bytes == bytes) return true;
        dprintf(STDERR_FILENO, "alive: %lld blocks, %lld bytes; expected %llu and %llu\n",
                static_cast<long long>(now.blocks), static_cast<long long>(now.bytes),
                static_cast<unsigned long long>(blocks), static_cast<unsigned long long>(bytes));
        return false;
    }

private:
    std::uint64_t generation_ = 0;
};
