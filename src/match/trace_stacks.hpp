// SPDX-License-Identifier: BSL-1.0
// The stacks and modules that a trace of heapmark's defines, and their names.
#pragma once

#include "analyse/names.hpp"
#include "platform/modules.hpp"

#include <array>
#include <string>
#include <unordered_map>
#include <vector>

namespace heapmark::match {

using Words = std::array<std::uint64_t, 3>;

class TraceStacks final : public analyse::Names {
public:
    /// Takes in a definition. One that makes no sense is passed over.
    void define_site(const Words& words);
    void define_module(const Words& words);

    /// Empty when the trace has none, as at the end of a trace that was cut off. Valid until the next definition.
    [[nodiscard]] Stack stack(std::uint32_t site) const;
    [[nodiscard]] Api api(std::uint32_t site) const;

    const analyse::FrameNames& of_frame(Frame frame) override;
    std::string_view type_at(const void*) override { return {}; }
    std::string_view of_generation(Generation) override { return {}; }

private:
    struct Site {
        Api api = Api::unknown;
        std::vector<Frame> frames;
    };
    struct Module {
        platform::Module known{};
        std::string path;
    };
    static Module& make_module();

    std::unordered_map<std::uint32_t, Site> sites_;
    std::unordered_map<std::uint16_t, Module*> modules_;
    std::unordered_map<std::uint64_t, analyse::FrameNames> names_;
    std::unordered_map<std::uint64_t, analyse::CallName> unknown_calls_; ///< of frames without a module
};

} // namespace heapmark::match
