// SPDX-License-Identifier: BSL-1.0
#include "platform/thread_state.hpp"
#include "real_frames.hpp"

#include <atomic>
#include <cerrno>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace heapmark;
using namespace heapmark::test;

namespace zoo {
struct Animal {
    virtual ~Animal() = default;
    long legs = 4;
};
template <class T>
struct Cage : Animal {
    T kept{};
};
struct Stone {
    long weight = 1;
};
} // namespace zoo

namespace {

[[gnu::noinline]] Frame here() { return frame_of(__builtin_return_address(0)); }

Block block_with(Stack stack)
{
    Block block;
    block.stack = stack;
    block.size = 1;
    return block;
}

} // namespace

TEST_CASE("an address in no module has no name")
{
    const std::vector<Call> calls = resolve(Frame{0x1234});
    REQUIRE(calls.size() == 1);
    CHECK(calls[0].function.empty());
    CHECK_FALSE(calls[0].inlined);
    CHECK(module_path(Frame{0x1234}).empty());
    CHECK(resolve(Frame{0}).size() == 1);
}

namespace {
const void* visited_from = nullptr;
[[gnu::noinline]] void note_visit() { visited_from = __builtin_return_address(0); }
} // namespace

TEST_CASE("code behind an inline function of which two sources tell has its line")
{
    Library library(SHARED_INLINE);
    library.symbol<int(void (*)())>("run_only")(note_visit);
    const std::vector<Call> calls = resolve(frame_of(visited_from));
    REQUIRE(calls.size() == 1);
    CHECK(calls[0].function == "Only::run(void (*)())");
    CHECK(file_name(calls[0].file) == "shared_inline_one.cpp");
    CHECK(calls[0].line == 8);
}

#ifdef LTO
TEST_CASE("link time optimisation leaves code its names and lines")
{
    Library library(LTO);
    library.symbol<int(void (*)())>("run_only")(note_visit);
    const std::vector<Call> calls = resolve(frame_of(visited_from));
    REQUIRE(calls.size() >= 2);
    CHECK(calls[0].function == "Only::run(void (*)())");
    CHECK(calls[0].inlined);
    CHECK(file_name(calls[0].file) == "shared_inline_one.cpp");
    CHECK(calls[0].line == 8);
}
#endif

TEST_CASE("a source has its own path, also when it was compiled elsewhere")
{
    Library library(ELSEWHERE);
    library.symbol<int(void (*)())>("run_only")(note_visit);
    const std::vector<Call> calls = resolve(frame_of(visited_from));
    REQUIRE(calls.size() == 1);
    CHECK(calls[0].file == FIXTURES "/shared_inline_one.cpp");
}

TEST_CASE("the vDSO is a module without a file")
{
    const unsigned long vdso = getauxval(AT_SYSINFO_EHDR);
    if (vdso == 0) return;
    const Frame frame = frame_of(reinterpret_cast<const void*>(vdso + 0x100));
    CHECK(resolve(frame)[0].function.empty());
    CHECK(module_path(frame) == "[vdso]");
}

TEST_CASE("errno is kept, and no guard is left behind")
{
    errno = 99;
    CHECK_FALSE(resolve(here())[0].function.empty());
    CHECK(errno == 99);
    CHECK(platform::thread_state.guard_depth == 0);
}

TEST_CASE("blocks are filtered by function, file and module of any frame")
{
    const Frame frames[] = {here(), Frame{0x1234}};
    const Block block = block_with(Stack(frames, 2));
    CHECK(in_file("process_names_test.cpp")(block));
    CHECK_FALSE(in_file("names_test.cpp")(block));
    CHECK(in_module("unit_symbolise")(block));
    CHECK_FALSE(in_module("symbolise")(block));
    CHECK(in_function(resolve(frames[0])[0].function.c_str())(block));
    CHECK_FALSE(in_function("zoo")(block));
    CHECK_FALSE(in_function("here")(block_with({})));
}

TEST_CASE("the public call site and groups use this process's names")
{
    const Frame frames[] = {here()};
    const Stack stack(frames, 1);
    CHECK(call_site(stack) == frames[0]);
    CHECK(call_site(Stack{}) == Frame{});
    const auto groups = Snapshot::of({block_with(stack)}).group_by(by_module);
    REQUIRE(groups.size() == 1);
    CHECK(groups[0].label() == "unit_symbolise");
}

TEST_CASE("polymorphic objects at the start of blocks tell their type")
{
    zoo::Cage<int> cage;
    zoo::Animal animal;
    zoo::Stone stone;
    const long zero[2] = {0, 0};
    const auto type_of = [](void* address) {
        Block block;
        block.address = address;
        const Snapshot snapshot = Snapshot::of({block});
        return std::string(snapshot.group_by(by_type)[0].label());
    };
    CHECK(type_of(&cage) == "zoo::Cage<int>");
    CHECK(type_of(&animal) == "zoo::Animal");
    CHECK(type_of(&stone) == "(unknown type)");
    CHECK(type_of(const_cast<long*>(zero)) == "(unknown type)");
    CHECK(type_of(nullptr) == "(unknown type)");
    CHECK(type_of(reinterpret_cast<void*>(0x1000)) == "(unknown type)");
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool may_fork_beside_threads = false; // the sanitizers' own locks are not fork-safe
#elif defined(__has_feature)
constexpr bool may_fork_beside_threads = !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer));
#else
constexpr bool may_fork_beside_threads = true;
#endif

TEST_CASE("threads ask at once, and a child forked meanwhile may ask too")
{
    std::atomic<bool> stop{false};
    const auto address = here().address();
    std::thread asking([&] {
        // Every address is a frame that was never looked up, so that the lock is held most of the time.
        const std::uint64_t module = std::uint64_t{here().module()} << 48;
        for (std::uintptr_t i = 0; !stop.load(std::memory_order_relaxed); ++i)
            static_cast<void>(resolve(Frame{(address + i % 5000) | module}));
    });
    for (int i = 0; i < 2000; ++i) REQUIRE_FALSE(resolve(here())[0].function.empty());
    for (int i = 0; i < 50 && may_fork_beside_threads; ++i) {
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            alarm(20);
            _exit(resolve(here())[0].function.empty() ? 1 : 0);
        }
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status));
        REQUIRE(WEXITSTATUS(status) == 0);
    }
    stop.store(true, std::memory_order_relaxed);
    asking.join();
}
