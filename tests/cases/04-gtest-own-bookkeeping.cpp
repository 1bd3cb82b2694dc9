// SPDX-License-Identifier: BSL-1.0
// Situation: a test framework allocates while a test runs and keeps it: recorded
// properties, the text of a failed expectation, lazily made reporters.  A leak
// check wrapped round the test body blames the test for that.
// Needs googletest: add -lgtest -pthread.  The program itself returns 0 only if
// exactly the failures it plans happen.
//
// Right answer, per test, when a check brackets each test:
//   Quiet.CleanButRecords   no leak (what survives belongs to the framework)
//   Quiet.CleanButFails     the planned failure only; no leak on top
//   Quiet.ReallyLeaks       1 block of 40 bytes from keep_forty, lost
#include "case.h"
#include <gtest/gtest.h>

CASE_NOINLINE void keep_forty()
{
    char* p = new char[40];
    CASE_KEEP(p);
}

TEST(Quiet, CleanButRecords)
{
    CASE_MARK();
    RecordProperty("a key that is long enough to allocate", "and a value as long as that one");
    CASE_EXPECT_FROM("keep_forty", 0, 0);
    CASE_EXPECT_LOST(0, 0);
}

TEST(Quiet, CleanButFails)
{
    CASE_MARK();
    EXPECT_EQ(1, 2) << "planned: leaves a result record with this text behind";
    CASE_EXPECT_FROM("keep_forty", 0, 0);
    CASE_EXPECT_LOST(0, 0);
}

TEST(Quiet, ReallyLeaks)
{
    CASE_MARK();
    keep_forty();
    CASE_SCRUB_STACK();
    CASE_EXPECT_FROM("keep_forty", 1, 40);
    CASE_EXPECT_LOST(1, 40);
}

int main(int argc, char** argv)
{
    testing::InitGoogleTest(&argc, argv);
    int all_passed = RUN_ALL_TESTS();
    (void)all_passed;
    return testing::UnitTest::GetInstance()->failed_test_count() == 1 ? 0 : 1;
}
