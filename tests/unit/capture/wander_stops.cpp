// SPDX-License-Identifier: BSL-1.0
// Functions that call on at random, in frames of every shape. HEAPMARK_TEST_STOPS names the list of this build;
// HEAPMARK_TEST_FREE_FP says that the frame register is free in it, as in code without frame pointers.
#include "wander_stops.hpp"

#include <alloca.h>
#include <cstddef>
#include <cstdlib>
#include <iterator>

namespace capture_test {
namespace {

/// Keeps a call from being the last thing a function does, and an object in memory.
inline void keep(void* object) noexcept { asm volatile("" : "+r"(object) : : "memory"); }

/// Counts a frame of the tree while it lives.
struct Deeper {
    explicit Deeper(Wanderer& wanderer) noexcept : w(wanderer), before(wanderer.depth++) {}
    ~Deeper() { w.depth = before; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    Wanderer& w;
    int before;
};

/// Calls on from one of several places, so that the same function shows several return addresses.
#define HEAPMARK_TEST_CALL_ON(w, object)                                                                               \
    while ((w).goes_on()) {                                                                                            \
        const Stop next = (w).choose();                                                                                \
        switch ((w).below(3)) {                                                                                        \
        case 0:                                                                                                        \
            next(w);                                                                                                   \
            keep(object);                                                                                              \
            break;                                                                                                     \
        case 1:                                                                                                        \
            next(w);                                                                                                   \
            keep(nullptr);                                                                                             \
            break;                                                                                                     \
        default:                                                                                                       \
            next(w);                                                                                                   \
            keep(&(w));                                                                                                \
            break;                                                                                                     \
        }                                                                                                              \
    }

[[gnu::noinline]] void plain(Wanderer& w)
{
    const Deeper deeper(w);
    HEAPMARK_TEST_CALL_ON(w, nullptr)
}

[[gnu::noinline]] void large(Wanderer& w)
{
    const Deeper deeper(w);
    char space[1000];
    HEAPMARK_TEST_CALL_ON(w, space)
}

[[gnu::noinline]] void growing(Wanderer& w)
{
    const Deeper deeper(w);
    void* space = alloca(16 + w.below(300));
    keep(space);
    HEAPMARK_TEST_CALL_ON(w, space)
}

/// Moves its stack pointer between calls.
[[gnu::noinline]] void growing_between_calls(Wanderer& w)
{
    const Deeper deeper(w);
    for (int round = 0; round < 6 && w.goes_on(); ++round) {
        void* space = alloca(16 + w.below(64));
        w.choose()(w);
        keep(space);
    }
    HEAPMARK_TEST_CALL_ON(w, nullptr)
}

template <std::size_t Alignment>
[[gnu::noinline]] void aligned(Wanderer& w)
{
    const Deeper deeper(w);
    alignas(Alignment) char space[Alignment];
    HEAPMARK_TEST_CALL_ON(w, space)
}

[[gnu::noinline]] void aligned_and_growing(Wanderer& w)
{
    const Deeper deeper(w);
    alignas(64) char space[64];
    void* more = alloca(8 + w.below(200));
    keep(more);
    HEAPMARK_TEST_CALL_ON(w, space)
}

[[gnu::noinline, gnu::force_align_arg_pointer]] void realigning(Wanderer& w)
{
    const Deeper deeper(w);
    HEAPMARK_TEST_CALL_ON(w, nullptr)
}

/// Arguments beyond the registers: the stack pointer at the inner call is another.
[[gnu::noinline]] void many_arguments(Wanderer& w, Stop next, long a, long b, long c, long d, long e, long f, long g)
{
    long sum = a + b + c + d + e + f + g;
    keep(&sum);
    next(w);
    keep(&sum);
}

[[gnu::noinline]] void pushing(Wanderer& w)
{
    const Deeper deeper(w);
    long number = static_cast<long>(w.below(100));
    while (w.goes_on()) {
        const Stop next = w.choose();
        if (w.below(2) == 0)
            many_arguments(w, next, number, number + 1, 2, 3, 4, number, 6);
        else
            next(w);
        keep(&number);
    }
}

[[gnu::noinline]] void tail_calling(Wanderer& w)
{
    if (!w.goes_on()) return;
    return w.choose()(w);
}

/// All kept registers hold data, another each time.
[[gnu::noinline]] void busy_registers(Wanderer& w)
{
    const Deeper deeper(w);
    while (w.goes_on()) {
        unsigned long values[8];
        for (unsigned long& value : values) {
            value = w.next_random();
            asm volatile("" : "+r"(value));
        }
        w.choose()(w);
        asm volatile("" : : "r"(values[0]), "r"(values[1]), "r"(values[2]), "r"(values[3]), "r"(values[4]));
    }
}

#if defined(HEAPMARK_TEST_FREE_FP)
/// Writes anything, stack addresses too, into the frame register and calls on with it there.
[[gnu::noinline]] void dirty_fp(Wanderer& w)
{
    const Deeper deeper(w);
    while (w.goes_on()) {
        const Stop next = w.choose();
        const std::uint64_t value =
            w.below(2) == 0 ? w.next_random() : reinterpret_cast<std::uintptr_t>(&deeper) + 8 * w.below(64);
        asm volatile("mov %0, %%rbp" : : "r"(value) : "rbp");
        next(w);
        keep(nullptr);
    }
}
#endif

/// Leaves inner frames without their knowing.
[[gnu::noinline]] void jumped_to(Wanderer& w)
{
    const Deeper deeper(w);
    std::jmp_buf here;
    std::jmp_buf* const outer = w.escape;
    const int depth = w.depth;
    if (setjmp(here) == 0) {
        w.escape = &here;
        if (w.goes_on()) w.choose()(w);
    }
    w.depth = depth;
    w.escape = outer;
    HEAPMARK_TEST_CALL_ON(w, &here)
}

[[gnu::noinline]] void jumping(Wanderer& w)
{
    const int before = w.depth++;
    if (w.goes_on()) w.choose()(w);
    keep(&w);
    if (w.escape != nullptr && w.below(4) == 0) std::longjmp(*w.escape, 1);
    w.depth = before;
}

/// Forbids jumps over the frames that would mind, while it lives.
struct NoEscape {
    explicit NoEscape(Wanderer& wanderer) noexcept : w(wanderer), before(wanderer.escape) { w.escape = nullptr; }
    ~NoEscape() { w.escape = before; }
    NoEscape(const NoEscape&) = delete;
    NoEscape& operator=(const NoEscape&) = delete;
    Wanderer& w;
    std::jmp_buf* before;
};

/// Calls on while an exception is in flight, from below the unwinder.
struct CallsOnAtEnd {
    explicit CallsOnAtEnd(Wanderer& wanderer) noexcept : w(wanderer) {}
    ~CallsOnAtEnd()
    {
        w.look(w);
        keep(nullptr);
    }
    CallsOnAtEnd(const CallsOnAtEnd&) = delete;
    CallsOnAtEnd& operator=(const CallsOnAtEnd&) = delete;
    Wanderer& w;
};

[[gnu::noinline]] void throwing(Wanderer& w, int depth)
{
    const CallsOnAtEnd calls_on(w);
    if (depth == 0) throw depth;
    throwing(w, depth - 1);
    keep(&depth);
}

[[gnu::noinline]] void catching(Wanderer& w)
{
    const Deeper deeper(w);
    const NoEscape no_escape(w);
    int thrown = 0;
    if (w.below(4) == 0) {
        try {
            throwing(w, static_cast<int>(w.below(4)));
        } catch (int& value) {
            w.look(w);
            thrown = value;
        }
    }
    HEAPMARK_TEST_CALL_ON(w, &thrown)
}

thread_local Wanderer* compared_by;

int compare(const void* a, const void* b)
{
    Wanderer& w = *compared_by;
    const int result = *static_cast<const int*>(a) - *static_cast<const int*>(b);
    if (w.goes_on()) w.choose()(w);
    compared_by = &w; // what was called may have sorted too, for another
    return result;
}

[[gnu::noinline]] void sorting(Wanderer& w)
{
    const Deeper deeper(w);
    const NoEscape no_escape(w);
    int values[5];
    for (int& value : values) value = static_cast<int>(w.below(1000));
    compared_by = &w;
    std::qsort(values, std::size(values), sizeof values[0], compare);
    HEAPMARK_TEST_CALL_ON(w, values)
}

constexpr Stop all[] = {
    plain,
    plain,
    large,
    growing,
    growing_between_calls,
    aligned<32>,
    aligned<64>,
    aligned<256>,
    aligned_and_growing,
    realigning,
    pushing,
    tail_calling,
    busy_registers,
#if defined(HEAPMARK_TEST_FREE_FP)
    dirty_fp,
    dirty_fp,
#endif
    jumped_to,
    jumping,
    catching,
    sorting,
};
constexpr std::ptrdiff_t unsafe_count = 4; // the last ones jump, throw and sort

} // namespace

Stops HEAPMARK_TEST_STOPS() noexcept { return {all, static_cast<std::ptrdiff_t>(std::size(all)) - unsafe_count}; }

} // namespace capture_test
