// SPDX-License-Identifier: BSL-1.0
// The new-handler: called until the allocation succeeds, or throws, or is none ([new.delete.single] 4). Memory runs
// out because the address space is limited, and a handler gives some of it back.
#include "doors.hpp"

#include <array>
#include <sys/resource.h>

using namespace doors;

namespace {

constexpr std::size_t request = std::size_t{256} << 20;
constexpr int reserves = 3;
void* reserve[reserves];
int reserves_left = 0;
int calls = 0;

/// Makes an allocation of `request` bytes fail until all the reserves are given back.
void fill_reserves()
{
    for (void*& block : reserve) block = malloc(request / 2);
    reserves_left = reserves;
    calls = 0;
}

void give_one_back()
{
    ++calls;
    if (reserves_left > 0) free(reserve[--reserves_left]);
    if (calls > 20) std::set_new_handler(nullptr);
}

struct GaveUp {};
void throw_other() { throw GaveUp(); }
void throw_bad_alloc() { throw std::bad_alloc(); }
void remove_itself()
{
    ++calls;
    std::set_new_handler(nullptr);
}

std::size_t address_space_in_use()
{
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    EXPECT(file != nullptr && std::fscanf(file, "%lu", &pages) == 1);
    std::fclose(file);
    return pages * 4096;
}

template <class Call>
int outcome(Call call) // 0: null, 1: a block (given back), 2: bad_alloc, 3: GaveUp
{
    try {
        void* block = call();
        if (block == nullptr) return 0;
        free(opaque(block)); // a mismatch, but what is asked here is only whether there is a block
        return 1;
    } catch (const std::bad_alloc&) {
        return 2;
    } catch (const GaveUp&) {
        return 3;
    }
}

struct Form {
    void* (*allocate)(std::size_t);
    void (*release)(void*, std::size_t);
    bool throws;
};
const Form forms[] = {
    {obtain_new, release_delete, true},
    {obtain_new_nothrow, release_delete, false},
    {obtain_new_array, release_delete_array, true},
    {obtain_new_array_nothrow, release_delete_array, false},
    {obtain_new_aligned, release_delete_aligned, true},
    {obtain_new_aligned_nothrow, release_delete_aligned, false},
    {obtain_new_array_aligned, release_delete_array_aligned, true},
    {obtain_new_array_aligned_nothrow, release_delete_array_aligned, false},
};

} // namespace

int main()
{
    // Everything that is made on first use, before memory is short.
    EXPECT_EQ(outcome([] { return ::operator new(opaque(~std::size_t{0})); }), 2);
    const std::size_t in_use = address_space_in_use();
    const rlimit limit{in_use + request + request / 2 * 2, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit); // room for the request and one reserve, and a little
    const Since since;

    for (const Form& form : forms) {
        fill_reserves();
        std::set_new_handler(give_one_back);
        void* block = form.allocate(request);
        EXPECT(block != nullptr);
        EXPECT(calls >= 1 && calls <= reserves);
        EXPECT(since.holds(1 + static_cast<std::uint64_t>(reserves_left),
                           request + static_cast<std::uint64_t>(reserves_left) * (request / 2)));
        form.release(block, request);
        while (reserves_left > 0) free(reserve[--reserves_left]);
        EXPECT(since.holds(0, 0));
        EXPECT(std::get_new_handler() == give_one_back);

        const auto hopeless = [&] { return form.allocate(opaque(std::size_t{1} << 40)); };
        calls = 0;
        std::set_new_handler(remove_itself);
        EXPECT_EQ(outcome(hopeless), form.throws ? 2 : 0);
        EXPECT_EQ(calls, 1);
        std::set_new_handler(nullptr);
        EXPECT_EQ(outcome(hopeless), form.throws ? 2 : 0);
        std::set_new_handler(throw_bad_alloc);
        EXPECT_EQ(outcome(hopeless), form.throws ? 2 : 0);
        std::set_new_handler(throw_other);
        if (form.throws) EXPECT_EQ(outcome(hopeless), 3);
        std::set_new_handler(nullptr);
        EXPECT(since.holds(0, 0));
    }
    return verdict();
}
