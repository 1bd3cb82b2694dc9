// SPDX-License-Identifier: BSL-1.0
// Thousands of short threads: their caches are given back, so memory does not grow with their number.
#include "both_ways.hpp"

#include <cerrno>
#include <pthread.h>

namespace {

thread_local char* kept = nullptr;

void* allocate_a_little(void*)
{
    kept = static_cast<char*>(opaque(std::malloc(300)));
    void* large = opaque(std::malloc(5000));
    std::free(kept);
    std::free(large);
    return nullptr;
}

std::uint64_t resident_bytes()
{
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    unsigned long size = 0;
    unsigned long resident = 0;
    EXPECT(file != nullptr && std::fscanf(file, "%lu %lu", &size, &resident) == 2);
    std::fclose(file);
    return resident * 4096;
}

/// Four at a time.
void run_threads(int count)
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 * 1024);
    pthread_t threads[4];
    for (int i = 0; i < count; i += 4) {
        for (pthread_t& thread : threads) EXPECT_EQ(pthread_create(&thread, &small, allocate_a_little, nullptr), 0);
        for (const pthread_t thread : threads) EXPECT_EQ(pthread_join(thread, nullptr), 0);
    }
    pthread_attr_destroy(&small);
}

} // namespace

int main()
{
    run_threads(400);
    const Since since;
    const std::uint64_t before = resident_bytes();
    run_threads(20'000);
    const std::uint64_t after = resident_bytes();
    EXPECT(since.holds(0, 0));
    // A thread leaves a record behind, and a context of 128 bytes; its caches would be tens of kilobytes.
    const std::uint64_t grown = after > before ? after - before : 0;
    if (!EXPECT(grown < 20'000 * 400))
        dprintf(STDERR_FILENO, "  grown by %llu KB\n", static_cast<unsigned long long>(grown / 1024));
    return verdict();
}
