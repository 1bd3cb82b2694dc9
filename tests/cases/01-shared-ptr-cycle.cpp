// SPDX-License-Identifier: BSL-1.0
// Situation: parent and child hold each other by shared_ptr.  The test drops its
// last handle and believes both are gone.
//
// Right answer: survivors after the mark = 2 blocks, both made in link_pair, both
// lost.  There is no "root" among them: a report that lists only blocks without
// any incoming pointer shows nothing, so the two must be shown as one group (a
// cycle) and not be dropped.  After the weak_ptr version: nothing survives.
#include "case.h"
#include <memory>

struct Peer {
    std::shared_ptr<Peer> other;
    std::weak_ptr<Peer> soft;
    char payload[48] = {};
};

CASE_NOINLINE void link_pair(bool strong_back)
{
    auto a = std::make_shared<Peer>();
    auto b = std::make_shared<Peer>();
    a->other = b;
    if (strong_back) b->other = a; else b->soft = a;
}

int main()
{
    CASE_MARK();
    link_pair(false);
    CASE_SCRUB_STACK();
    CASE_EXPECT_SURVIVORS(0, 0);

    CASE_MARK();
    link_pair(true);
    CASE_SCRUB_STACK();
    CASE_EXPECT_SURVIVORS(2, CASE_ANY);
    CASE_EXPECT_FROM("link_pair", 2, CASE_ANY);
    CASE_EXPECT_LOST(2, CASE_ANY);
    CASE_EXPECT_REACHABLE(0, 0);
    return 0;
}
