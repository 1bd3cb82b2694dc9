/* SPDX-License-Identifier: BSL-1.0 */
/* Placeholder vocabulary for the field cases in this folder.
 *
 * A case states what a correct tool must answer at a given point.  Alone, every
 * macro below does nothing, so that each case compiles and runs with a plain
 * compiler.  To judge a tool, put a header of your own that defines the same
 * macros in front:
 *
 *     g++ -std=c++17 -g -DCASE_IMPL='"my_mapping.h"' 01-....cpp
 *
 * Terms
 *   mark       a line drawn in time; blocks made after it are "new"
 *   survivor   a new block that is still allocated, in any thread, when asked;
 *              memory the tool needs for itself is never a survivor
 *   bytes      sum of the sizes the program asked for (not the rounded ones);
 *              CASE_ANY where the size belongs to a library and may differ
 *   lost       survivor that nothing the program can still use leads to
 *              (directly lost and lost-through-another-lost-block together)
 *   reachable  survivor that the program can still get to
 */
#ifndef CASE_H
#define CASE_H

#define CASE_ANY ((unsigned long)-1)
#define CASE_NOINLINE __attribute__((noinline))

/* keeps the compiler from removing an allocation nobody reads */
#define CASE_KEEP(p) __asm__ volatile("" : : "g"(p) : "memory")

/* overwrites the dead part of the stack, so that old pointers left there by
 * returned functions do not matter (unless a case is about just that) */
__attribute__((unused)) static CASE_NOINLINE void case_scrub_stack(void)
{
    volatile unsigned char pad[8192];
    for (unsigned i = 0; i < sizeof pad; ++i) pad[i] = 0;
    CASE_KEEP(pad);
}
#define CASE_SCRUB_STACK() case_scrub_stack()

#ifdef CASE_IMPL
#include CASE_IMPL
#else
#define CASE_MARK()                            ((void)0)
/* all survivors since the last mark */
#define CASE_EXPECT_SURVIVORS(count, bytes)    ((void)0)
/* those made between the n-th mark of this process (from 1) and the next mark,
 * and still allocated now, however many marks later */
#define CASE_EXPECT_GENERATION(n, count, bytes) ((void)0)
/* those survivors whose call stack contains this function */
#define CASE_EXPECT_FROM(func, count, bytes)   ((void)0)
/* the same survivors, sorted by whether the program can still get to them */
#define CASE_EXPECT_LOST(count, bytes)         ((void)0)
#define CASE_EXPECT_REACHABLE(count, bytes)    ((void)0)
/* since the last mark: blocks released by the wrong function (new[]/delete...) */
#define CASE_EXPECT_MISMATCHES(count)          ((void)0)
/* since the last mark: releases of addresses the tool never saw allocated */
#define CASE_EXPECT_UNKNOWN_FREES(count)       ((void)0)
#endif

#endif
