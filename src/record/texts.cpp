// SPDX-License-Identifier: BSL-1.0
// Interned texts: hash chains that only grow.
#include "record/texts.hpp"

#include "platform/growing_table.hpp"
#include "record/arena.hpp"

#include <algorithm>
#include <new>

namespace heapmark::record {
namespace {

struct Text {
    TextId id;
    std::uint32_t size;
    const Text* next;

    [[nodiscard]] std::string_view view() const noexcept { return {reinterpret_cast<const char*>(this + 1), size}; }
};

constinit std::atomic<const Text*> buckets[std::size_t{1} << 14]{};
constinit std::atomic<TextId> next_id{no_text + 1};
constinit platform::GrowingTable<const Text*, text_id_bits, 10> texts_by_id{};

std::size_t bucket_of(std::string_view text) noexcept
{
    std::uint64_t hash = 0;
    for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x9fb2'1c65'1e98'df25U;
    return (hash >> 40) % std::size(buckets);
}

const Text* find_in_chain(const Text* from, const Text* until, std::string_view text) noexcept
{
    for (const Text* candidate = from; candidate != until; candidate = candidate->next)
        if (candidate->view() == text) return candidate;
    return nullptr;
}

Text* make_text(std::string_view text) noexcept
{
    if (next_id.load(std::memory_order_relaxed) > max_text) return nullptr;
    void* memory = allocate_for_ever(sizeof(Text) + text.size() + 1);
    if (memory == nullptr) return nullptr;
    const TextId id = next_id.fetch_add(1, std::memory_order_relaxed);
    const Text** slot = id > max_text ? nullptr : texts_by_id.slot(id);
    if (slot == nullptr) return nullptr;
    auto* made = new (memory) Text{id, static_cast<std::uint32_t>(text.size()), nullptr};
    std::copy(text.begin(), text.end(), reinterpret_cast<char*>(made + 1));
    *slot = made;
    return made;
}

} // namespace

TextId intern_text(std::string_view text) noexcept
{
    if (text.empty()) return no_text;
    std::atomic<const Text*>& bucket = buckets[bucket_of(text)];
    const Text* head = bucket.load(std::memory_order_acquire);
    if (const Text* known = find_in_chain(head, nullptr, text)) return known->id;

    Text* made = make_text(text);
    if (made == nullptr) return no_text;
    for (;;) {
        made->next = head;
        const Text* searched = head;
        if (bucket.compare_exchange_weak(head, made, std::memory_order_release, std::memory_order_acquire))
            return made->id;
        if (const Text* known = find_in_chain(head, searched, text)) return known->id;
    }
}

std::string_view text(TextId id) noexcept
{
    const Text* const* slot = id == no_text || id > max_text ? nullptr : texts_by_id.find(id);
    return slot == nullptr || *slot == nullptr ? std::string_view("") : (*slot)->view();
}

} // namespace heapmark::record
