// SPDX-License-Identifier: BSL-1.0
// Releases against allocations, process by process. What reads traces calls it in the order of the records.
#pragma once

#include "match/block_table.hpp"
#include "match/kept_texts.hpp"
#include "match/listener.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace heapmark::match {

/// What was counted; of one process or of all.
struct Totals {
    std::uint64_t allocations = 0;
    std::uint64_t reallocations = 0; ///< successful ones of blocks
    std::uint64_t releases = 0;      ///< of blocks that were alive
    std::uint64_t failed = 0;        ///< calls that got nothing
    std::uint64_t double_frees = 0;
    std::uint64_t unknown_frees = 0; ///< of addresses that were never allocated
    std::uint64_t allocated_twice = 0;
    std::uint64_t older = 0; ///< releases of blocks from before the trace

    Totals& operator+=(const Totals& more) noexcept;
};

enum class Release : std::uint8_t {
    by_free,
    by_realloc,
    right, ///< whoever wrote the trace knew the block: one that the trace lacks is from before it
};

/// A block that was allocated and not released.
struct Leak {
    Place place; ///< of the record that allocated it, or gave it its size
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::string_view text;  ///< that record, as it was given to the matcher; kept by whoever keeps the leak
    std::uint32_t site = 0; ///< of its stack, in a trace that has stacks
};

struct Process {
    std::uint32_t id = 0;
    std::string program;
    Totals totals;
    BlockTable blocks;
    std::vector<Leak> left_at_end; ///< of programs that ended earlier under this id
    KeptTexts texts;               ///< of these
    std::uint32_t first_source = 0;
};

/// One process with what it leaked, in the order of the records.
struct Leaks {
    std::uint32_t process = 0;
    std::string program;
    std::vector<Leak> blocks;
    KeptTexts texts; ///< of the blocks
    std::uint64_t bytes = 0;
    std::uint64_t excused_blocks = 0; ///< alive too, but no leaks of its own
    Totals totals;
};

class Matcher {
public:
    explicit Matcher(Listener& listener) noexcept : listener_(listener) {}

    /// `text` of a record: kept as long as its block lives.
    struct Record {
        Place place;
        std::string_view text;
    };

    /// The process of that id, made if need be. Stays where it is.
    Process& process(std::uint32_t id, std::string_view program, Place place);
    /// nullptr when no record of it was seen.
    Process* known_process(std::uint32_t id);

    void allocate(Process& process, std::uint64_t address, std::uint64_t bytes, const Record& record);
    /// The live block at that address shall be no leak.
    void excuse(Process& process, std::uint64_t address);
    void release(Process& process, std::uint64_t address, const Record& record, Release how = Release::by_free);
    /// The result 0 means that it failed, and `old` is still there.
    void reallocate(Process& process, std::uint64_t old, std::uint64_t address, std::uint64_t bytes,
                    const Record& record);
    /// The same in two steps, between which other threads may be given the old address.
    void begin_resize(Process& process, std::uint64_t old, const Record& record, Release how);
    void end_resize(Process& process, std::uint64_t old, std::uint64_t address, std::uint64_t bytes,
                    const Record& record);
    void fail(Process& process, const Record& record);

    /// The child begins with the parent's blocks; nothing happens if it has records already.
    void fork(Process& parent, std::uint32_t child, Place place);
    /// exec: all blocks are gone, and none is a leak.
    void forget_blocks(Process& process);
    /// The process ended: what is alive has leaked. Returns how many blocks were excused.
    std::uint64_t end(Process& process);

    /// What every process leaked, in the order in which they appeared. The matcher is of no use afterwards.
    std::vector<Leaks> finish();

private:
    void note(const Process& process, const Record& record, std::string_view what, std::uint64_t address,
              std::uint64_t bytes);
    void release_of_no_block(Process& process, std::uint64_t address, const Record& record, Release how,
                             const Entry* earlier);
    [[nodiscard]] std::size_t allowance() const noexcept { return BlockTable::usual_allowance / in_order_.size(); }
    void wrong(const Process& process, const Record& record, std::string_view what, std::uint64_t address,
               const Entry* earlier);

    Listener& listener_;
    TextPool texts_;
    std::unordered_map<std::uint32_t, std::unique_ptr<Process>> processes_;
    std::vector<Process*> in_order_;
    Process* last_ = nullptr;
};

} // namespace heapmark::match
