// SPDX-License-Identifier: BSL-1.0
// Situation: memory is asked for before main (static constructors), and by the
// loader itself: a failing dlsym/dlopen makes the C library allocate its error text
// (older ones call calloc inside dlsym, which sends naive wrappers into endless
// recursion).
//
// Right answer: starts, ends, no hang.  The block made before main is known: when it
// is released in main that is not a release of an unknown address.  Survivors that
// name ask_loader: none lost (the loader keeps its error text for the thread).
#include "case.h"
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

char* early;

__attribute__((constructor(101))) static void very_early()
{
    early = static_cast<char*>(std::calloc(3, 11));
}

CASE_NOINLINE bool ask_loader()
{
    bool none = dlsym(RTLD_DEFAULT, "no_function_of_this_name_exists") == nullptr;
    const char* text = dlerror();
    none = none && text != nullptr && std::strlen(text) > 0;
    none = none && dlopen("./no-such-library-here.so", RTLD_NOW) == nullptr;
    return none && dlerror() != nullptr;
}

int main()
{
    if (early == nullptr || early[32] != 0) return 1;

    CASE_MARK();
    std::free(early);
    early = nullptr;
    CASE_EXPECT_SURVIVORS(0, 0);
    CASE_EXPECT_UNKNOWN_FREES(0);

    CASE_MARK();
    bool ok = ask_loader();
    CASE_SCRUB_STACK();
    CASE_EXPECT_LOST(0, 0);

    CASE_MARK();
    ok = ask_loader() && ok;
    CASE_SCRUB_STACK();
    CASE_EXPECT_LOST(0, 0);
    return ok ? 0 : 1;
}
