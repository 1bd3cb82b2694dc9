// SPDX-License-Identifier: BSL-1.0
// Leaves memory when it is given an argument.
#include <heapmark/main_guard.hpp>

#include "../first_uses.hpp"
#include "../lose.hpp"

int main(int argc, char** /*argv*/)
{
    heapmark::main_guard guard{"program"};
    if (argc > 1) lose(std::malloc(10)); // LEAKS program
    const int status = first_uses() > 0 ? 0 : 3;
    return guard.status(status);
}
