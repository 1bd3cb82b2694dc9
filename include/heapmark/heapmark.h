/* SPDX-License-Identifier: BSL-1.0
 * The C API: mark, counts, print, accounting. Also exported by libheapmark_preload.so, so that a program can use it where
 * it is preloaded: declare the functions weak, or look them up with dlsym.
 */
#ifndef HEAPMARK_HEAPMARK_H
#define HEAPMARK_HEAPMARK_H

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A point in time drawn by heapmark_mark. Later marks are greater; 0 began with the process. */
typedef uint64_t heapmark_generation;

typedef struct heapmark_totals {
    uint64_t blocks; /* live blocks */
    uint64_t bytes;  /* requested bytes of them */
} heapmark_totals;

/* Starts a new generation and returns it. The name (copied; NULL for none) appears in reports.
 * Any thread; O(1); allocates nothing from the heap. */
heapmark_generation heapmark_mark(const char* name);

/* Live blocks and requested bytes born in `since` or later, in any thread. Allocates nothing; async-signal-safe. */
heapmark_totals heapmark_counts(heapmark_generation since);

/* Writes the text report of the live blocks born in `since` or later. Returns 0, or an errno value when `out`
 * could not be written or memory ran out. */
int heapmark_print(heapmark_generation since, FILE* out);

/* From now on all that is allocated is accounted to its caller; HEAPMARK_OPTIONS=accounting=callers does so from the
 * beginning. See heapmark/accounting.hpp. */
void heapmark_start_accounting(void);

/* Writes the accounting's header, an empty line, and its table. Returns 0, or an errno value as above. */
int heapmark_print_accounting(FILE* out);

/* Marks a live block as meant to live on. Returns 1 if it was the start of a tracked block, else 0. */
int heapmark_forget(const void* block);

/* 1 when allocations are recorded in this process (found by trying), else 0. */
int heapmark_active(void);

#ifdef __cplusplus
}
#endif

#endif
