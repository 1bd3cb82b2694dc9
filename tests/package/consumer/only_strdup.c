/* SPDX-License-Identifier: BSL-1.0
 * Its only heap use is inside libc, and its one block, of 41 bytes, survives. */
#include <string.h>

char* volatile kept;

int main(void)
{
    kept = strdup("forty characters and a zero at their end");
    return 0;
}
