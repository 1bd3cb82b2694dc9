/* SPDX-License-Identifier: BSL-1.0
 * A program that was not built for heapmark, to be run under libheapmark_preload.so: it forgets two notes. */
#include <stdlib.h>
#include <string.h>

struct note {
    struct note* next;
    char text[56];
};

static struct note* volatile notes; /* or the compiler, seeing that nobody reads them, allocates nothing */

void write_note(const char* text)
{
    struct note* note = malloc(sizeof *note);
    if (note == NULL) abort();
    strncpy(note->text, text, sizeof note->text - 1);
    note->text[sizeof note->text - 1] = '\0';
    note->next = notes;
    notes = note;
}

int main(void)
{
    write_note("feed the cat");
    write_note("water the plants");
    notes = NULL;
    return 0;
}
