// SPDX-License-Identifier: BSL-1.0
// The addresses that one process has had: those alive, and those released, which tell a double free from a free of
// something that was never allocated.
//
// Traces run to gigabytes, so what is released cannot be remembered for ever. A full table is made anew; when more is
// released in it than alive, and more than an allowance, the half that was released first is forgotten.
#pragma once

#include "base/bits.hpp"
#include "match/place.hpp"
#include "match/text_pool.hpp"
#include "match/zeroed_array.hpp"

namespace heapmark::match {

struct Entry {
    enum class State : std::uint8_t {
        empty,
        released,
        live,
        excused,  ///< alive, and no leak: a parent's from before a fork, or one that the program said to ignore
        resizing, ///< inside a realloc
    };

    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    Place place; ///< of the record that made it what it is
    TextPool::Id text = 0;
    State state = State::empty;

    [[nodiscard]] bool alive() const noexcept { return state > State::released; }
};
static_assert(sizeof(Entry) == 32);

class BlockTable {
public:
    /// Released addresses that are remembered, however few are alive.
    static constexpr std::size_t usual_allowance = std::size_t{1} << 20;

    explicit BlockTable(std::size_t allowance = usual_allowance) : allowance_(allowance) {}

    /// nullptr when nothing is known of the address.
    [[nodiscard]] Entry* find(std::uint64_t address) noexcept
    {
        if (entries_.size() == 0) return nullptr;
        Entry& entry = entries_[slot(address)];
        return entry.state == Entry::State::empty ? nullptr : &entry;
    }

    /// To be called some records before find() or add().
    void prefetch(std::uint64_t address) const noexcept
    {
        if (entries_.size() != 0) __builtin_prefetch(&entries_[base::mix64(address) & (entries_.size() - 1)], 1);
    }

    /// The entry of an address, an empty one if it is new, for the caller to fill in at once. Valid until the next add().
    [[nodiscard]] Entry& add(std::uint64_t address)
    {
        if (used_ >= entries_.size() / 8 * 5) [[unlikely]]
            make_anew();
        Entry& entry = entries_[slot(address)];
        if (entry.state == Entry::State::empty) {
            entry.address = address;
            ++used_;
        }
        return entry;
    }

    /// Whether addresses were forgotten, so that find() may know nothing of one that was released.
    [[nodiscard]] bool has_forgotten() const noexcept { return has_forgotten_; }
    void set_allowance(std::size_t allowance) noexcept { allowance_ = allowance; }
    [[nodiscard]] std::size_t capacity_for_test() const noexcept { return entries_.size(); }

    template <class Visit>
    void for_live(Visit visit)
    {
        for (Entry& entry : entries_)
            if (entry.alive()) visit(entry);
    }

private:
    [[nodiscard]] std::size_t slot(std::uint64_t address) const noexcept
    {
        const std::size_t mask = entries_.size() - 1;
        std::size_t at = base::mix64(address) & mask;
        while (entries_[at].state != Entry::State::empty && entries_[at].address != address) at = (at + 1) & mask;
        return at;
    }
    void make_anew();

    ZeroedArray<Entry> entries_; ///< a power of two, or none
    std::size_t used_ = 0;
    std::size_t allowance_;
    bool has_forgotten_ = false;
};

} // namespace heapmark::match
