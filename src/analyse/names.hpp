// SPDX-License-Identifier: BSL-1.0
// The seam between numbers and names: what analysis and reports ask about a frame. symbolise answers for this
// process; tests answer with inventions.
#pragma once

#include <heapmark/heapmark.hpp>

#include <span>
#include <string_view>

namespace heapmark::analyse {

/// One call that a frame stands for. Texts are immortal.
struct CallName {
    std::string_view function;       ///< demangled; empty when unknown
    std::string_view short_function; ///< the same for people
    std::string_view file;
    unsigned line = 0;
    bool inlined = false;  ///< into the next call of the frame
    bool plumbing = false; ///< of an allocator, heapmark or the C++ library
};

/// What a frame is called. Immortal.
struct FrameNames {
    std::span<const CallName> calls;  ///< innermost first, never empty
    std::string_view module;          ///< path; empty when the address belonged to none
    std::uintptr_t offset = 0;        ///< of the call in the module's file; the address itself without a module
    std::uintptr_t return_offset = 0; ///< of the return address in the function of the last call; 0 when unknown
};

class Names {
public:
    virtual const FrameNames& of_frame(Frame frame) = 0;
    /// Type of the polymorphic object, or the coroutine's frame, at the start of a block; empty when nothing tells.
    virtual std::string_view type_at(const void* block) = 0;
    /// What a block is: by what the program said of it, by what its stack proves, by its vtable; empty when nothing tells.
    virtual std::string_view type_of(const Block& block) { return type_at(block.address); }
    virtual std::string_view of_generation(Generation generation) = 0;

protected:
    ~Names() = default;
};

/// The first call of the stack that is not plumbing, with its frame. A stack of nothing else yields its first call;
/// an empty one yields nullptrs.
struct CallSite {
    const FrameNames* frame = nullptr;
    const CallName* call = nullptr;
    std::size_t frame_index = 0;
};
[[nodiscard]] CallSite call_site(const Stack& stack, Names& names);

/// Last part of a path.
[[nodiscard]] constexpr std::string_view file_name(std::string_view path) noexcept
{
    return path.substr(path.rfind('/') + 1);
}

} // namespace heapmark::analyse
