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
// The test: the least of each quarter of the readings must be more than that of the quarter before, in blocks or in bytes,
// and the least of each eighth no less than that of the eighth before. The least does not mind what comes and goes. A cache
// that fills and then keeps its size has two quarters alike; one that fills more and more slowly is known by that.
#ifndef HEAPMARK_GROWTH_HPP
#define HEAPMARK_GROWTH_HPP

#include <heapmark/heapmark.hpp>

namespace heapmark {

/// Blocks of some age: older than the class before, and younger than `below_ns` nanoseconds.
struct AgeClass {
    static constexpr std::uint64_t no_end = ~std::uint64_t{0};

    std::uint64_t below_ns = no_end;
    Counts counts;
};

/// One call site that keeps growing.
struct Growth {
    std::string_view site;         ///< as Snapshot::group_by(by_call_site) calls it
    std::vector<Counts> readings;  ///< oldest first, of what was born since the watch began
    bool in_blocks = false;        ///< the number of blocks passes the test
    bool in_bytes = false;         ///< the number of bytes does
    bool never_falls = false;      ///< no reading is less than the one before, in what passes the test
    double blocks_per_reading = 0; ///< the median of the slopes between all pairs of readings; 0 where it does not pass
    double bytes_per_reading = 0;
    Snapshot blocks; ///< alive now
    std::vector<AgeClass>
        ages;     ///< of `blocks`, youngest first, empty classes left out: 1 s, 10 s, 1 min, 10 min, 1 h, 1 d
    Block oldest; ///< of `blocks`
};

/// Watches blocks born after it was made. Its own memory is not among them.
/// Readings are taken when the program asks, at its marks, every so often, or when a signal comes; in one thread of the
/// watch's own but for the first. A child that is forked has the readings so far, and no such thread.
/// Threads: one at a time, but for readings of the watch's own thread.
class GrowthWatch {
public:
    GrowthWatch();
    ~GrowthWatch();
    GrowthWatch(const GrowthWatch&) = delete;
    GrowthWatch& operator=(const GrowthWatch&) = delete;

    /// Takes a reading, and starts a generation, so that ages can be told. After 512 readings every second one is dropped,
    /// again and again, so that the memory is bounded.
    /// Cost: a snapshot of what was born since the watch began.
    void read();

    /// From now on takes a reading at each mark(): of what was born before it and still lives a moment later. Marks that
    /// come quicker than readings can be taken share one.
    /// Errors: this and the next two throw std::system_error when there can be no thread. Cost of a mark: a system call more.
    void read_at_marks();

    /// From now on takes a reading every so often.
    void read_every(std::uint64_t interval_ms);

    /// From now on, until the watch is destroyed, the signal means: take a reading. The handler does no more than wake the
    /// thread that does so. For one watch and one signal at a time; what the signal did before is put back.
    /// Errors: throws std::system_error for a signal that cannot be caught.
    void read_on_signal(int signal);

    /// Readings kept so far. There is no answer before the eighth.
    [[nodiscard]] std::size_t size() const;

    /// The sites that keep growing, most bytes a reading first.
    [[nodiscard]] std::vector<Growth> growing() const;

private:
    struct State;
    class Reader;
    template <class Change>
    void read_for(Change change);

    State* state_;
};

/// One paragraph a site: how much, how fast, by which test, a small chart of its blocks, how old they are.
std::ostream& operator<<(std::ostream& out, const GrowthWatch& watch);

} // namespace heapmark

#endif
