// SPDX-License-Identifier: BSL-1.0
// Situation: an object stores a callback, the callback has captured a shared_ptr to
// the object.  The capture is too large for the small buffer of std::function, so the
// ring runs through a block no class in the program is named after.
//
// Right answer: survivors = 2 blocks, both with subscribe in the stack: the object
// (with its reference counts) and the copy of the capture inside std::function.  Both
// lost, as one group.  With a weak_ptr capture: none.
#include "case.h"
#include <functional>
#include <memory>

struct Feed {
    std::function<int()> on_data;
    int seen = 0;
};

CASE_NOINLINE void subscribe(bool weak)
{
    auto feed = std::make_shared<Feed>();
    long a = 1, b = 2, c = 3;
    if (weak) {
        std::weak_ptr<Feed> w = feed;
        feed->on_data = [w, a, b, c] { auto f = w.lock(); return f ? f->seen + int(a + b + c) : 0; };
    } else {
        feed->on_data = [feed, a, b, c] { return feed->seen + int(a + b + c); };
    }
    int got = feed->on_data();
    CASE_KEEP(got);
}

int main()
{
    CASE_MARK();
    subscribe(true);
    CASE_SCRUB_STACK();
    CASE_EXPECT_SURVIVORS(0, 0);

    CASE_MARK();
    subscribe(false);
    CASE_SCRUB_STACK();
    CASE_EXPECT_SURVIVORS(2, CASE_ANY);
    CASE_EXPECT_FROM("subscribe", 2, CASE_ANY);
    CASE_EXPECT_LOST(2, CASE_ANY);
    return 0;
}
