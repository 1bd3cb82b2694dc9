// SPDX-License-Identifier: BSL-1.0
// What keeps growing: call sites whose live blocks become more from reading to reading.
//
//     heapmark::GrowthWatch watch;
//     for (int i = 0; i < 100; ++i) {
//         serve_some_requests();
//         watch.read();
//     }
//     std::cout << watch;
//
// The test: the readings are cut into four quarters of equal length, and the least of each quarter must be more than
// that of the quarter before, in blocks or in bytes. The least does not mind what comes and goes; a cache that fills and
// then keeps its size has two quarters alike.
#ifndef HEAPMARK_GROWTH_HPP
#define HEAPMARK_GROWTH_HPP

#include <heapmark/heapmark.hpp>

namespace heapmark {

/// One call site that keeps growing.
struct Growth {
    std::string_view site;         ///< as Snapshot::group_by(by_call_site) calls it
    std::vector<Counts> readings;  ///< oldest first, of what was born since the watch began
    bool in_blocks = false;        ///< the number of blocks passes the test
    bool in_bytes = false;         ///< the number of bytes does
    double blocks_per_reading = 0; ///< from the least of the first quarter to that of the last
    double bytes_per_reading = 0;
    Snapshot blocks; ///< alive now; their ages tell old leaks from young ones
};

/// Watches blocks born after it was made. Its own memory is not among them.
/// Threads: one at a time, but for read_every(), which takes care of itself.
class GrowthWatch {
public:
    GrowthWatch();
    ~GrowthWatch();
    GrowthWatch(const GrowthWatch&) = delete;
    GrowthWatch& operator=(const GrowthWatch&) = delete;

    /// Takes a reading. After 512 of them every second one is dropped, again and again, so that the memory is bounded.
    /// Cost: a snapshot of what was born since the watch began.
    void read();

    /// Reads in a thread of its own until the watch is destroyed. Call it once.
    /// Errors: throws std::system_error when there can be no thread.
    void read_every(std::uint64_t interval_ms);

    /// Readings kept so far. There is no answer before the eighth.
    [[nodiscard]] std::size_t size() const;

    /// The sites that keep growing, most bytes a reading first.
    [[nodiscard]] std::vector<Growth> growing() const;

private:
    struct State;
    State* state_;
};

/// One paragraph a site: how much, how fast, a small chart of its blocks, how old they are.
std::ostream& operator<<(std::ostream& out, const GrowthWatch& watch);

} // namespace heapmark

#endif
