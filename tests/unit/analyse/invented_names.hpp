// SPDX-License-Identifier: BSL-1.0
// Names for invented frames, so that analysis and reports can be tested to the byte. A frame's bits are its key.
#pragma once

#include "analyse/names.hpp"

#include <deque>
#include <map>
#include <string_view>
#include <vector>

namespace heapmark::test {

class InventedNames final : public analyse::Names {
public:
    /// A frame of one call.
    Frame call(std::string_view function, std::string_view file = {}, unsigned line = 0, std::string_view module = {})
    {
        return calls({{function, function, file, line, false, false}}, module);
    }
    /// A frame of one call that belongs to the allocator.
    Frame plumbing(std::string_view function, std::string_view module = {})
    {
        return calls({{function, function, {}, 0, false, true}}, module);
    }
    /// A frame with inlined calls, innermost first.
    Frame calls(std::vector<analyse::CallName> list, std::string_view module = {})
    {
        for (std::size_t i = 0; i + 1 < list.size(); ++i) list[i].inlined = true;
        lists_.push_back(std::move(list));
        const Frame frame{0x1000 + frames_.size() * 0x10};
        frames_[frame.bits] = {lists_.back(), module, frame.address() - 1, 0};
        return frame;
    }
    /// How far its return address lies in its function.
    void set_return_offset(Frame frame, std::uintptr_t offset) { frames_.at(frame.bits).return_offset = offset; }

    const analyse::FrameNames& of_frame(Frame frame) override
    {
        ++asked;
        return frames_.at(frame.bits);
    }
    std::string_view type_at(const void* block) override { return types[block]; }
    std::string_view of_generation(Generation generation) override { return generations[generation]; }

    std::map<const void*, std::string_view> types;
    std::map<Generation, std::string_view> generations;
    unsigned asked = 0; ///< frames looked up

private:
    std::deque<std::vector<analyse::CallName>> lists_;
    std::map<std::uint64_t, analyse::FrameNames> frames_;
};

/// Stacks that stay where they are.
class Stacks {
public:
    Stack of(std::vector<Frame> frames)
    {
        kept_.push_back(std::move(frames));
        return {kept_.back().data(), kept_.back().size()};
    }

private:
    std::deque<std::vector<Frame>> kept_;
};

inline Block block_at(std::uintptr_t address, std::size_t size, Stack stack = {}, std::uint64_t generation = 1)
{
    Block block;
    block.address = reinterpret_cast<void*>(address);
    block.size = size;
    block.usable_size = size;
    block.generation = Generation{generation};
    block.stack = stack;
    block.thread = ThreadId{1};
    block.api = Api::operator_new;
    return block;
}

} // namespace heapmark::test
