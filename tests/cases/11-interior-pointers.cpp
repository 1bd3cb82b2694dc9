// SPDX-License-Identifier: BSL-1.0
// Situation: nothing points at the start of a block, only at its inside:
//   (a) an object kept by its second base class,
//   (b) an array of objects with destructors (the count sits in front of them),
//   (c) an intrusive list link in the middle of a record.
// Tools have called these "possibly lost" or lost.
//
// Right answer: 3 survivors after the mark, all reachable, none lost: each is still
// released properly through the pointer the program has.  A finer grade for "found
// through its inside only" is fine if it is not counted as lost.
#include "case.h"
#include <cstddef>
#include <cstdlib>

struct First  { virtual ~First()  {} long a = 1; };
struct Second { virtual ~Second() {} long b = 2; };
struct Both : First, Second { long c = 3; };

struct Item { char text[24]; ~Item() { CASE_KEEP(text); } };

struct Link { Link* next; };
struct Record { long id; char name[40]; Link link; };

Second* kept_second;
Item* kept_items;
Link* kept_link;

CASE_NOINLINE void build()
{
    kept_second = new Both;
    kept_items = new Item[4];
    Record* r = static_cast<Record*>(std::malloc(sizeof(Record)));
    r->link.next = nullptr;
    kept_link = &r->link;
}

int main()
{
    CASE_MARK();
    build();
    CASE_SCRUB_STACK();
    // Both, 4 items and their count, Record
    CASE_EXPECT_SURVIVORS(3, sizeof(Both) + 4 * sizeof(Item) + sizeof(std::size_t) + sizeof(Record));
    CASE_EXPECT_REACHABLE(3, CASE_ANY);
    CASE_EXPECT_LOST(0, 0);

    delete kept_second;
    delete[] kept_items;
    std::free(reinterpret_cast<char*>(kept_link) - offsetof(Record, link));
    CASE_EXPECT_SURVIVORS(0, 0);
    return 0;
}
