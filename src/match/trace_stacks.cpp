// SPDX-License-Identifier: BSL-1.0
#include "match/trace_stacks.hpp"

#include "symbolise/symbolise.hpp"
#include "trace/format.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>

namespace heapmark::match {
namespace {

constexpr std::size_t most_frames = 32;
constexpr std::size_t longest_path = 4096;

} // namespace

/// For ever: symbolise keeps what it finds in a module's file under the module.
TraceStacks::Module& TraceStacks::make_module()
{
    static std::mutex lock;
    static auto* const all = new std::deque<Module>;
    const std::lock_guard<std::mutex> held(lock);
    return all->emplace_back();
}

void TraceStacks::define_site(const Words& words)
{
    const std::size_t depth = trace::DepthField::get(words[0]);
    const std::size_t first = trace::PairField::get(words[0]) * 2;
    const std::uint64_t api = trace::ApiField::get(words[0]);
    if (depth > most_frames || first > depth || api > static_cast<std::uint64_t>(Api::shmat)) return;
    Site& site = sites_[static_cast<std::uint32_t>(trace::SiteField::get(words[0]))];
    site.api = static_cast<Api>(api);
    site.frames.resize(depth);
    for (std::size_t i = 0; i < 2 && first + i < depth; ++i) site.frames[first + i] = Frame{words[1 + i]};
}

void TraceStacks::define_module(const Words& words)
{
    Module*& module = modules_[static_cast<std::uint16_t>(trace::ModuleField::get(words[0]))];
    if (module == nullptr) module = &make_module();
    platform::Module& known = module->known;
    const std::size_t begin = trace::PieceField::get(words[0]) * 16;
    switch (static_cast<trace::Part>(trace::PartField::get(words[0]))) {
    case trace::Part::place:
        known.bias = words[1];
        known.build_id_size = static_cast<std::uint8_t>(std::min<std::uint64_t>(words[2], sizeof known.build_id));
        break;
    case trace::Part::build_id:
        if (begin < sizeof known.build_id)
            std::memcpy(known.build_id + begin, &words[1], std::min(sizeof known.build_id - begin, std::size_t{16}));
        break;
    case trace::Part::path:
        if (begin >= longest_path) break;
        if (module->path.size() < begin + 16) module->path.resize(begin + 16);
        std::memcpy(module->path.data() + begin, &words[1], 16);
        break;
    }
    known.path = module->path.c_str(); // the piece with the zero byte ends it
}

Stack TraceStacks::stack(std::uint32_t site) const
{
    const auto found = sites_.find(site);
    if (found == sites_.end()) return {};
    return {found->second.frames.data(), found->second.frames.size()};
}

Api TraceStacks::api(std::uint32_t site) const
{
    const auto found = sites_.find(site);
    return found == sites_.end() ? Api::unknown : found->second.api;
}

const analyse::FrameNames& TraceStacks::of_frame(Frame frame)
{
    const auto known = names_.find(frame.bits);
    if (known != names_.end()) return known->second;
    const std::uintptr_t call_address = frame.address() - 1; // as in symbolise: inside the call, not behind it
    const auto module = modules_.find(frame.module());
    if (module != modules_.end())
        return names_
            .emplace(frame.bits, symbolise::names_in(module->second->known, call_address - module->second->known.bias))
            .first->second;
    analyse::FrameNames names;
    names.offset = call_address;
    names.calls = {&unknown_calls_[frame.bits], 1};
    return names_.emplace(frame.bits, names).first->second;
}

} // namespace heapmark::match
