// SPDX-License-Identifier: BSL-1.0
#include "trace/definitions.hpp"

#include "platform/growing_table.hpp"
#include "platform/modules.hpp"
#include "trace/append.hpp"
#include "trace/format.hpp"

#include <cstring>

namespace heapmark::trace {
namespace {

using platform::ThreadState;

/// The number of the trace that last got a definition.
using WrittenIn = std::atomic<std::uint32_t>;
constinit platform::GrowingTable<WrittenIn, record::site_id_bits, 14> sites_written{};
constinit platform::GrowingTable<WrittenIn, 16, 10> modules_written{};

/// Whether this thread is the one to write it.
bool is_new(WrittenIn* written) noexcept
{
    const std::uint32_t number = trace_number();
    return written != nullptr && written->load(std::memory_order_relaxed) != number &&
           written->exchange(number, std::memory_order_relaxed) != number;
}

/// Bytes in pieces of two words, with a zero byte at the end.
bool write_bytes(ThreadState& thread, std::uint64_t first_word, Part part, const void* bytes, std::size_t size) noexcept
{
    bool complete = true;
    for (std::size_t piece = 0; piece * 16 <= size; ++piece) {
        std::uint64_t words[2] = {};
        const std::size_t rest = size - piece * 16;
        std::memcpy(words, static_cast<const char*>(bytes) + piece * 16, rest < 16 ? rest : 16);
        complete &=
            append(thread, {first_word | PartField::put(static_cast<std::uint64_t>(part)) | PieceField::put(piece),
                            words[0], words[1]});
    }
    return complete;
}

bool write_module(ThreadState& thread, const platform::Module& module) noexcept
{
    const std::uint64_t first_word =
        KindField::put(static_cast<std::uint64_t>(Kind::module)) | ModuleField::put(module.id);
    bool complete = append(thread, {first_word, module.bias, module.build_id_size});
    complete &= write_bytes(thread, first_word, Part::build_id, module.build_id, module.build_id_size);
    return complete & write_bytes(thread, first_word, Part::path, module.path, std::strlen(module.path));
}

void define_module(ThreadState& thread, std::uint64_t frame) noexcept
{
    const auto id = static_cast<std::uint16_t>(frame >> 48);
    const platform::Module* const module = platform::module_by_id(id);
    if (module == nullptr) return;
    WrittenIn* const written = modules_written.slot(id);
    if (is_new(written) && !write_module(thread, *module)) written->store(0, std::memory_order_relaxed);
}

} // namespace

void define_site(ThreadState& thread, std::uint32_t id) noexcept
{
    WrittenIn* const written = sites_written.slot(id);
    if (!is_new(written)) return;
    const record::Site* const site = record::site(id);
    if (site == nullptr) return;
    const std::uint64_t* const frames = site->frames();
    bool complete = true;
    for (unsigned i = 0; i == 0 || i < site->depth_frames; i += 2) {
        const std::uint64_t first = i < site->depth_frames ? frames[i] : 0;
        const std::uint64_t second = i + 1U < site->depth_frames ? frames[i + 1] : 0;
        complete &= append(thread, {KindField::put(static_cast<std::uint64_t>(Kind::site)) | SiteField::put(id) |
                                        PairField::put(i / 2) | DepthField::put(site->depth_frames) |
                                        ApiField::put(static_cast<std::uint64_t>(site->key.api)),
                                    first, second});
        define_module(thread, first);
        define_module(thread, second);
    }
    // Without space now, there may be some later.
    if (!complete) written->store(0, std::memory_order_relaxed);
}

} // namespace heapmark::trace
