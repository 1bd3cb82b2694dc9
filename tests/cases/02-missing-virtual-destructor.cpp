// SPDX-License-Identifier: BSL-1.0
// Situation: an object is deleted through a base class whose destructor is not
// virtual.  The object's own storage is released, what its members own is not.
// With sized deallocation the release is also announced with the wrong size.
//
// Right answer: survivors = 1 block of 65 bytes (the text of the string member),
// made inside Report::Report, lost.  The object itself is not a survivor, and the
// wrong size passed to operator delete(void*, size_t) must not confuse the books
// (it may be reported as a mismatch, but the block is gone).
#include "case.h"
#include <string>

struct Message {
    int kind = 1;
    ~Message() {}                       // forgot: virtual
};

struct Report : Message {
    std::string text;
    CASE_NOINLINE Report() : text(64, 'r') {}
};

CASE_NOINLINE Message* make_report() { return new Report; }

#pragma GCC diagnostic ignored "-Wdelete-non-virtual-dtor"
CASE_NOINLINE void drop(Message* m) { delete m; }

int main()
{
    CASE_MARK();
    drop(make_report());
    CASE_SCRUB_STACK();
    CASE_EXPECT_SURVIVORS(1, 65);
    CASE_EXPECT_FROM("make_report", 1, 65);
    CASE_EXPECT_LOST(1, 65);
    return 0;
}
