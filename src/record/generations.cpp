// SPDX-License-Identifier: BSL-1.0
// The table of generations.
#include "record/generations.hpp"

#include "base/bits.hpp"
#include "platform/growing_table.hpp"
#include "platform/monotonic_clock.hpp"
#include "record/contexts.hpp"

namespace heapmark::record {
namespace {

/// When a generation was marked and its name, in one word: pages of them are first touched while marking, and a touch
/// costs more than all the rest.
class Info {
public:
    Info(std::uint64_t now_ns, TextId name) noexcept : Info(Name::put(name) | Time::put(ticks(now_ns))) {}
    explicit Info(std::uint64_t word) noexcept : word_(word) {}

    [[nodiscard]] std::uint64_t word() const noexcept { return word_; }
    [[nodiscard]] TextId name() const noexcept { return static_cast<TextId>(Name::get(word_)); }
    [[nodiscard]] std::uint64_t age_ns(std::uint64_t now_ns) const noexcept
    {
        const std::uint64_t age = (ticks(now_ns) - Time::get(word_)) & Time::max;
        return word_ == 0 || age > Time::max / 2 ? 0 : age << tick_shift; // the upper half: marked after now
    }

private:
    using Name = base::Field<0, text_id_bits>;
    using Time = base::Field<text_id_bits, 64 - text_id_bits>;
    static constexpr unsigned tick_shift = 10;

    static std::uint64_t ticks(std::uint64_t ns) noexcept { return ns >> tick_shift & Time::max; }

    std::uint64_t word_;
};

constexpr std::uint32_t made_ready = 4096; ///< generations at a time

constinit platform::GrowingTable<std::atomic<std::uint64_t>, 32, 16> infos{};

Info info_of(std::uint32_t generation) noexcept
{
    const std::atomic<std::uint64_t>* word = infos.find(generation);
    return Info(word == nullptr ? 0 : word->load(std::memory_order_acquire));
}

} // namespace

std::uint32_t mark(std::string_view name) noexcept
{
    const TextId text = intern_text(name);
    const std::uint32_t generation = clock.advance();
    if (std::atomic<std::uint64_t>* word = infos.slot(generation)) {
        // Page by page it is the first touch that costs. Who makes so few marks has no use for more than a page.
        if (generation % made_ready == 0) [[unlikely]]
            platform::touch_pages(word, made_ready * sizeof *word);
        word->store(Info(platform::monotonic_ns(), text).word(), std::memory_order_release);
    }
    return generation;
}

void begin_first_generation() noexcept
{
    if (std::atomic<std::uint64_t>* word = infos.slot(0)) {
        std::uint64_t unset = 0;
        word->compare_exchange_strong(unset, Info(platform::monotonic_ns(), no_text).word(), std::memory_order_release);
    }
}

std::uint64_t age_ns(std::uint32_t generation, std::uint64_t now_ns) noexcept
{
    return info_of(generation).age_ns(now_ns);
}

std::string_view name_of(std::uint32_t generation) noexcept { return text(info_of(generation).name()); }

} // namespace heapmark::record
