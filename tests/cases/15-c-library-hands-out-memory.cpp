// SPDX-License-Identifier: BSL-1.0
// Situation: C functions that return memory the caller must free, and the caller does
// not: strdup, asprintf, getline, realpath, open_memstream, getaddrinfo.  The call to
// malloc comes from inside libc, which keeps no frame pointers; wrappers that work by
// macros never see these, and their release looks like an unknown address.
//
// Right answer: first pass (everything released properly): nothing lost, no release of
// an unknown address.  Second pass (nothing released): at least 6 survivors that name
// keep_all, strdup's being 27 bytes; all of those lost.  The function that made
// the call (keep_all) must be in the stack, not libc's frames alone.
#include "case.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <netdb.h>

CASE_NOINLINE void keep_all(bool tidy)
{
    char* copy = strdup("twenty-six characters long");
    char* text = nullptr;
    if (asprintf(&text, "%d-%s", 42, "formatted") < 0) text = nullptr;
    char source[] = "one line\nsecond line\n";
    FILE* in = fmemopen(source, sizeof source - 1, "r");
    char* line = nullptr;
    std::size_t room = 0;
    if (getline(&line, &room, in) < 0) std::abort();
    std::fclose(in);
    char* path = realpath("/", nullptr);
    char* stream_text = nullptr;
    std::size_t stream_size = 0;
    FILE* out = open_memstream(&stream_text, &stream_size);
    std::fputs("to memory", out);
    std::fclose(out);
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* address = nullptr;
    if (getaddrinfo("127.0.0.1", nullptr, &hints, &address) != 0) address = nullptr;
    CASE_KEEP(copy); CASE_KEEP(text); CASE_KEEP(line); CASE_KEEP(path);
    CASE_KEEP(stream_text); CASE_KEEP(address);
    if (tidy) {
        std::free(copy); std::free(text); std::free(line); std::free(path);
        std::free(stream_text);
        freeaddrinfo(address);
    }
}

int main()
{
    CASE_MARK();
    keep_all(true);
    CASE_SCRUB_STACK();
    CASE_EXPECT_LOST(0, 0);
    CASE_EXPECT_UNKNOWN_FREES(0);

    CASE_MARK();
    keep_all(false);
    CASE_SCRUB_STACK();
    CASE_EXPECT_SURVIVORS(6, CASE_ANY);
    CASE_EXPECT_FROM("keep_all", 6, CASE_ANY);
    CASE_EXPECT_LOST(6, CASE_ANY);
    return 0;
}
