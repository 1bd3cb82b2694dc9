// SPDX-License-Identifier: BSL-1.0
// What the programs of this folder share: asking about one block, and keeping its address out of the scan's sight.
#pragma once

#include "expect.hpp"

#include <heapmark/heapmark.hpp>

#include <cstdint>
#include <cstring>

/// The address of a block in a form that no search takes for a pointer.
class Hidden {
public:
    explicit Hidden(const void* block = nullptr) : word_(~reinterpret_cast<std::uintptr_t>(block)) {}
    [[nodiscard]] bool is(const void* block) const { return word_ == ~reinterpret_cast<std::uintptr_t>(block); }

private:
    std::uintptr_t word_;
};

/// Overwrites the dead part of the stack, where returned functions left pointers.
[[gnu::noinline]] inline void scrub_stack()
{
    volatile unsigned char dead[32768];
    for (volatile unsigned char& byte : dead) byte = 0;
    heapmark::escape(const_cast<unsigned char*>(&dead[0]));
}

/// What became of a block.
inline heapmark::Reach reach_of(const heapmark::Explanation& why, const Hidden& hidden)
{
    for (const heapmark::Block& block : why.held())
        if (hidden.is(block.address)) return heapmark::Reach::held;
    for (const heapmark::Block& block : why.lost())
        if (hidden.is(block.address)) return why.reach(block.address);
    return heapmark::Reach::gone;
}

inline heapmark::Explanation explain_since(heapmark::Generation first)
{
    scrub_stack();
    return heapmark::explain(heapmark::survivors(first));
}

/// The way to a held block.
inline heapmark::Path path_to(const heapmark::Explanation& why, const Hidden& hidden)
{
    for (const heapmark::Block& block : why.held())
        if (hidden.is(block.address)) return why.path(block.address);
    return {};
}
