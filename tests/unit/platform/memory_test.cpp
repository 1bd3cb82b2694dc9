// SPDX-License-Identifier: BSL-1.0
// Probed reads, and the bounds of stacks.
#include "platform/safe_read.hpp"
#include "platform/stack_bounds.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace heapmark::platform;

namespace {

std::uintptr_t here() { return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); }

bool contains(const StackBounds& stack, std::uintptr_t address) { return address >= stack.low && address < stack.high; }

} // namespace

TEST_CASE("what can be read, and what cannot")
{
    constexpr std::size_t page = 4096;
    auto* pages =
        static_cast<char*>(mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(pages != MAP_FAILED);
    REQUIRE(mprotect(pages + page, page, PROT_NONE) == 0);
    std::memcpy(pages + page - 8, "12345678", 8);
    REQUIRE(mprotect(pages, page, PROT_READ) == 0);

    errno = 4711;
    CHECK(readable(pages, page));
    CHECK(readable(pages + page - 8, 8));
    CHECK_FALSE(readable(pages + page - 8, 9));
    CHECK_FALSE(readable(pages + page, 1));
    CHECK_FALSE(readable(pages + 2 * page - 1, 2));
    CHECK(readable(pages + 2 * page, page));
    CHECK_FALSE(readable(pages, 3 * page));
    CHECK(readable(pages + page, 0));
    CHECK_FALSE(readable(nullptr, 1));
    CHECK_FALSE(readable(reinterpret_cast<void*>(0x10), 8));
    CHECK_FALSE(readable(reinterpret_cast<void*>(~std::uintptr_t{7}), 8));
    CHECK_FALSE(readable(reinterpret_cast<void*>(~std::uintptr_t{7}), 16)); // runs over the end of memory
    CHECK_FALSE(readable(reinterpret_cast<void*>(0xffff800000000000), 8));
    CHECK_FALSE(readable(reinterpret_cast<void*>(0x4141414141414141), 8)); // no address at all

    char copy[8] = {};
    CHECK(safe_read(pages + page - 8, copy, 8));
    CHECK(std::memcmp(copy, "12345678", 8) == 0);
    CHECK_FALSE(safe_read(pages + page - 4, copy, 8));
    CHECK(std::memcmp(copy, "12345678", 8) == 0);
    CHECK(errno == 4711);

    munmap(pages + 2 * page, page);
    CHECK_FALSE(readable(pages + 2 * page, 1));
    munmap(pages, 2 * page);
}

TEST_CASE("the main thread's stack")
{
    const StackBounds stack = main_stack();
    CHECK(contains(stack, here()));
    CHECK(stack.high - stack.low <= std::size_t{128} << 20);
    CHECK(stack_of_this_thread().low == stack.low);
    CHECK(stack_of_this_thread().high == stack.high);
    // From here up everything is there.
    CHECK(readable(reinterpret_cast<void*>(here()), stack.high - here()));
}

TEST_CASE("another thread's stack, also in a child forked from it")
{
    StackBounds stack;
    std::uintptr_t inside = 0;
    StackBounds told;
    int child_status = -1;
    std::thread([&] {
        stack = stack_of_this_thread();
        inside = here();
        pthread_attr_t attributes;
        void* low = nullptr;
        std::size_t bytes = 0;
        pthread_getattr_np(pthread_self(), &attributes);
        pthread_attr_getstack(&attributes, &low, &bytes);
        pthread_attr_destroy(&attributes);
        told = {reinterpret_cast<std::uintptr_t>(low), reinterpret_cast<std::uintptr_t>(low) + bytes};
        const int child = fork();
        if (child == 0) {
            const StackBounds now = stack_of_this_thread();
            _exit(now.low == stack.low && now.high == stack.high ? 0 : 1);
        }
        waitpid(child, &child_status, 0);
    }).join();
    CHECK(contains(stack, inside));
    CHECK_FALSE(contains(stack, here()));
    CHECK(stack.low == told.low);
    CHECK(stack.high == told.high);
    CHECK(child_status == 0);
}
