// SPDX-License-Identifier: BSL-1.0
// Births, deaths and resizes as the overridden functions see them.
#include "interpose/hooks.hpp"

#include "capture/known_stacks.hpp"
#include "interpose/underlying.hpp"
#include "platform/modules.hpp"
#include "platform/options.hpp"
#include "trace/writer.hpp"

#include <bit>
#include <cerrno>
#include <cstring>

#ifdef HEAPMARK_PRELOAD
extern "C" { // bounds of the section of new.cpp, which the linker defines
extern const char __start_heapmark_operators[] __attribute__((visibility("hidden"))); // NOLINT
extern const char __stop_heapmark_operators[] __attribute__((visibility("hidden")));  // NOLINT
}
#endif

namespace heapmark::interpose {
namespace {

/// What is cleared at most: large blocks are mostly fresh memory, which must not be touched before it is needed.
constexpr std::size_t cleared_bytes_max = std::size_t{64} << 10;

/// Whether heapmark's own code allocated, outside any guard: the C++ library that the preload library carries inside.
/// A static heapmark shares its module, and its C++ library, with the program; there all such blocks are the program's.
bool is_own_frame([[maybe_unused]] std::span<const std::uint64_t> frames) noexcept
{
#ifdef HEAPMARK_PRELOAD
    static constinit std::atomic<std::uint16_t> own_module{0};
    if (own_module.load(std::memory_order_relaxed) == 0)
        if (const platform::Module* own = platform::module_at(reinterpret_cast<std::uintptr_t>(&is_own_frame)))
            own_module.store(own->id, std::memory_order_relaxed);
    if (frames.empty() || frames[0] >> 48 == 0 || frames[0] >> 48 != own_module.load(std::memory_order_relaxed))
        return false;
    // An operator that passes its request on to the program's, which may leave by a jump to malloc, is the program's.
    const std::uint64_t address = frames[0] & 0xffff'ffff'ffffU;
    return address <= reinterpret_cast<std::uintptr_t>(__start_heapmark_operators) ||
           address > reinterpret_cast<std::uintptr_t>(__stop_heapmark_operators);
#else
    return false;
#endif
}

/// The site where the general walk is needed, or the site is not in the thread's cache.
[[gnu::cold, gnu::noinline]] std::uint32_t interned_site(platform::ThreadState& thread, const capture::Caller& caller,
                                                         const record::SiteKey& key) noexcept
{
    std::uint64_t buffer[capture::max_depth_frames];
    const auto depth = static_cast<unsigned>(platform::options().depth);
    const std::span<const std::uint64_t> frames(
        buffer, capture::capture_stack(caller, thread.stack, thread.rule_cache, buffer, depth));
    const std::uint64_t hash = record::site_hash(key, frames);
    if (record::SiteCache* cache = thread.site_cache) {
        if (const std::uint32_t site = cache->find(hash); site != record::no_site) return site;
    }
    const std::uint32_t site = is_own_frame(frames) ? record::internal_site : record::intern_site(hash, key, frames);
    if (site == record::no_site)
        record::count_unstacked();
    else if (record::SiteCache* cache = thread.site_cache)
        cache->keep(hash, site);
    return site;
}

/// The site of the direct caller alone.
std::uint32_t site_of_caller(platform::ThreadState& thread, const capture::Caller& caller,
                             const record::SiteKey& key) noexcept
{
    const std::uint64_t frame = thread.rule_cache->frame_at(caller.pc);
    if (frame == 0) return interned_site(thread, caller, key);
    const std::uint32_t site = thread.site_cache->find(record::site_hash(key, std::span(&frame, 1)));
    if (site == record::no_site) return interned_site(thread, caller, key);
    if (site != record::internal_site) thread.known_stacks->keep_caller(caller, key.word(), site);
    return site;
}

/// Depot id of the stack above `caller`.
std::uint32_t site_of(platform::ThreadState& thread, const capture::Caller& caller, const record::SiteKey& key) noexcept
{
    if (thread.stack_cache == nullptr) [[unlikely]]
        return interned_site(thread, caller, key);
    // Also where the quick path was not taken or failed for the block's sake: what is known must not be kept once more.
    if (const std::uint32_t known = thread.known_stacks->find(caller, key.word()); known != record::no_site)
        return known;
    const auto depth = static_cast<unsigned>(platform::options().depth);
    if (depth == 1) return site_of_caller(thread, caller, key);
    const capture::Refreshed found =
        capture::refresh(*thread.stack_cache, *thread.rule_cache, caller, thread.stack, depth);
    if (found.count == 0) [[unlikely]]
        return interned_site(thread, caller, key);
    const std::uint32_t site = thread.site_cache->find(record::site_hash(key, found.hash));
    if (site == record::no_site) [[unlikely]]
        return interned_site(thread, caller, key);
    if (site != record::internal_site) thread.known_stacks->keep(*thread.stack_cache, found, caller, key.word(), site);
    return site;
}

[[gnu::cold, gnu::noinline]] void fault(platform::ThreadState& thread, record::FaultDetail detail, const Exit& exit,
                                        const void* block, const void* frame) noexcept
{
    record::count_fault(detail.kind);
    const int saved_errno = errno;
    detail.thread = thread.thread;
    detail.released_by = exit.name;
    detail.address = reinterpret_cast<std::uintptr_t>(block);
    detail.release_site = caller_site(thread, frame, Api::unknown);
    record::keep_fault(detail);
    if (auto* listener = record::fault_listener.load(std::memory_order_acquire)) listener(detail);
    errno = saved_errno;
}

/// A fault of which the map has the block: its birth, at that address.
record::FaultDetail detail_of(record::FaultKind kind, const record::Death& known, const void* block) noexcept
{
    record::FaultDetail detail;
    detail.kind = kind;
    detail.birth = known.entry;
    detail.birth_address = reinterpret_cast<std::uintptr_t>(block);
    detail.birth_sizes = known.sizes;
    return detail;
}

/// What a release of a live block got wrong, if anything; `wrong` becomes what it stated.
record::Mismatch mismatch(const record::Death& death, const Exit& exit, Stated stated, std::size_t& wrong) noexcept
{
    if (death.entry.kind() != exit.kind) return record::Mismatch::function;
    if (stated.bytes != unstated && stated.bytes != death.sizes.requested_bytes) {
        wrong = stated.bytes;
        return record::Mismatch::size;
    }
    if (stated.alignment != unstated) {
        const record::Site* birth = record::site(death.entry.site());
        if (birth != nullptr && std::size_t{1} << birth->key.alignment_log2 != stated.alignment) {
            wrong = stated.alignment;
            return record::Mismatch::alignment;
        }
    }
    return record::Mismatch::none;
}

/// A release of something that was not alive. Returns whether the allocator underneath is to have it all the same.
[[gnu::cold, gnu::noinline]] bool release_of_no_block(platform::ThreadState& thread, const record::Death& death,
                                                      void* block, const Exit& exit, const void* frame) noexcept
{
    if (death.outcome == record::Death::Outcome::released_before) {
        fault(thread, detail_of(record::FaultKind::double_free, death, block), exit, block, frame);
        return false;
    }
    const std::uintptr_t inside = record::block_around(reinterpret_cast<std::uintptr_t>(block));
    if (inside == 0 && may_own(block)) {
        // Born before heapmark could see it, or behind its back: no fault of the program's.
        record::count_fault(record::FaultKind::unknown_free);
        return true;
    }
    record::FaultDetail detail;
    detail.kind = record::FaultKind::unknown_free;
    detail.birth_address = inside;
    if (inside != 0) detail.birth = record::find_block(reinterpret_cast<void*>(inside), detail.birth_sizes); // NOLINT
    fault(thread, detail, exit, block, frame);
    return false;
}

/// What a block has got beyond what it was before a realloc.
void clear_tail(void* resized, const record::Death& before, std::size_t requested_bytes) noexcept
{
    const std::size_t bytes = usable_bytes(resized, requested_bytes);
    const std::size_t kept_bytes = before.sizes.usable_bytes;
    const bool known = before.outcome == record::Death::Outcome::died;
    if (known && bytes > kept_bytes && bytes - kept_bytes <= cleared_bytes_max)
        std::memset(static_cast<char*>(resized) + kept_bytes, 0, bytes - kept_bytes);
}

} // namespace

std::uint32_t caller_site(platform::ThreadState& thread, const void* frame, Api api) noexcept
{
    return site_of(thread, capture::caller_of(frame), {api, 0, thread.tag});
}

void record_birth(void* block, std::size_t requested_bytes, Door door, const void* frame, bool was_resized) noexcept
{
    platform::ThreadState& thread = platform::thread_state;
    if (thread.phase == platform::ThreadState::Phase::unseen) [[unlikely]]
        attach_thread(thread, 0);
    const record::Sizes sizes{requested_bytes, usable_bytes(block, requested_bytes)};
    if (thread.guard_depth != 0) [[unlikely]] {
        record::birth(thread, block, sizes, record::Kind::internal, record::internal_site);
        return;
    }
    const std::uint32_t site = site_of(thread, capture::caller_of(frame), {door.api, door.alignment_log2, thread.tag});
    const record::Kind kind = site == record::internal_site ? record::Kind::internal : door.kind;
    if (kind == record::Kind::internal || thread.ignore_depth != 0 ||
        !record::plain_birth(thread, block, sizes, kind, site)) [[unlikely]]
        record::birth(thread, block, sizes, kind, site);
    if (trace::is_written() && kind != record::Kind::internal) [[unlikely]]
        trace::write_allocation(thread, block, requested_bytes, site, was_resized);
}

void clear(void* block, std::size_t requested_bytes) noexcept
{
    if (block == nullptr) return;
    const std::size_t bytes = usable_bytes(block, requested_bytes);
    if (bytes <= cleared_bytes_max) std::memset(block, 0, bytes);
}

void release_slowly(void* block, const Exit& exit, Stated stated, const void* frame) noexcept
{
    const int saved_errno = errno;
    platform::ThreadState& thread = platform::thread_state;
    if (thread.phase == platform::ThreadState::Phase::unseen) attach_thread(thread, 0);
    const record::Death death = record::death(thread, block);
    bool given_back = true;
    if (death.outcome == record::Death::Outcome::died) {
        record::FaultDetail detail = detail_of(record::FaultKind::mismatched_release, death, block);
        detail.mismatch = mismatch(death, exit, stated, detail.stated);
        if (detail.mismatch != record::Mismatch::none) fault(thread, detail, exit, block, frame);
    } else if (death.outcome != record::Death::Outcome::internal)
        given_back = release_of_no_block(thread, death, block, exit, frame);
    if (trace::is_written() && death.outcome != record::Death::Outcome::internal) [[unlikely]]
        trace::write_release(thread, block, caller_site(thread, frame, Api::unknown), given_back);
    if (given_back) underlying.free(block);
    errno = saved_errno;
}

void* resize(void* block, std::size_t requested_bytes, Api api, const void* frame) noexcept
{
    platform::ThreadState& thread = platform::thread_state;
    if (thread.phase == platform::ThreadState::Phase::unseen) [[unlikely]]
        attach_thread(thread, 0);
    const Exit exit{to_string(api), record::Kind::malloc_family};
    record::Resize step(thread, block);
    switch (step.before().outcome) {
    case record::Death::Outcome::died:
        if (step.before().entry.kind() != record::Kind::malloc_family) [[unlikely]] {
            record::FaultDetail detail = detail_of(record::FaultKind::mismatched_release, step.before(), block);
            detail.mismatch = record::Mismatch::function;
            fault(thread, detail, exit, block, frame);
        }
        break;
    case record::Death::Outcome::internal: break;
    case record::Death::Outcome::released_before:
    case record::Death::Outcome::unknown:
        // Nothing may be read from a block that is not one: a new block is the most that can be given.
        if (!release_of_no_block(thread, step.before(), block, exit, frame)) {
            if (trace::is_written())
                trace::write_release(thread, block, caller_site(thread, frame, Api::unknown), false);
            void* fresh = underlying.malloc(padded(requested_bytes));
            if (fresh != nullptr) record_birth(fresh, requested_bytes, {api, record::Kind::malloc_family}, frame);
            return fresh;
        }
        break;
    }

    const bool traced = trace::is_written() && step.before().outcome != record::Death::Outcome::internal;
    if (requested_bytes == 0) { // As glibc: frees and returns nothing, whatever the allocator underneath does.
        step.done();
        if (traced) trace::write_release(thread, block, caller_site(thread, frame, Api::unknown), true);
        underlying.free(block);
        return nullptr;
    }
    if (traced) [[unlikely]]
        trace::write_resize(thread, block, caller_site(thread, frame, Api::unknown));
    void* resized = underlying.realloc(block, padded(requested_bytes));
    if (resized == nullptr) {
        step.keep();
        if (traced) trace::write_failed_resize(thread);
        return nullptr;
    }
    step.done();
    const Door door{api, record::Kind::malloc_family};
    if (!record_birth_quickly(resized, requested_bytes, door, frame))
        record_birth(resized, requested_bytes, door, frame, traced);
    if (record::clears_new_blocks.load(std::memory_order_relaxed)) [[unlikely]]
        clear_tail(resized, step.before(), requested_bytes);
    return resized;
}

} // namespace heapmark::interpose
