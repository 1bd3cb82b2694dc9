// SPDX-License-Identifier: BSL-1.0
// Situation: a constructor fills a raw pointer member and then throws.  The
// destructor never runs; the language releases the object's own storage only.
//
// Right answer: survivors = 1 block of 256 bytes, made in Session::Session, lost.
// Not survivors: the Session object itself, and the exception object, which lives
// only until the handler ends.
#include "case.h"
#include <stdexcept>

struct Session {
    char* buffer;
    CASE_NOINLINE explicit Session(int port) : buffer(new char[256])
    {
        CASE_KEEP(buffer);
        if (port < 0) throw std::invalid_argument("port");
    }
    ~Session() { delete[] buffer; }
};

CASE_NOINLINE bool try_open(int port)
{
    try {
        Session* s = new Session(port);
        delete s;
        return true;
    } catch (const std::invalid_argument&) {
        return false;
    }
}

int main()
{
    CASE_MARK();
    bool good = try_open(80);
    CASE_EXPECT_SURVIVORS(0, 0);

    CASE_MARK();
    bool bad = try_open(-1);
    CASE_SCRUB_STACK();
    CASE_EXPECT_SURVIVORS(1, 256);
    CASE_EXPECT_FROM("Session::Session", 1, 256);
    CASE_EXPECT_LOST(1, 256);
    return good && !bad ? 0 : 1;
}
