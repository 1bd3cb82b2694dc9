// SPDX-License-Identifier: BSL-1.0
// 200 threads that are created and end without a pause during 1,000 explanations. Each holds a block on its stack: nothing
// may be called lost, no search may be incomplete, nothing may hang.
#include "situations.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <pthread.h>
#include <thread>
#include <vector>

namespace {

constexpr unsigned makers = 4;
constexpr unsigned threads_each = 50;
constexpr unsigned explanations = 1000;

std::atomic<bool> stop{false};
std::atomic<std::size_t> created{0};
std::atomic<std::size_t> alive{0};

/// Until all threads of its maker are there, so that they live at once.
void* hold_a_moment(void* batch_is_whole)
{
    void* volatile mine = std::malloc(100);
    heapmark::escape(const_cast<void*>(mine));
    alive.fetch_add(1);
    while (!static_cast<std::atomic<bool>*>(batch_is_whole)->load())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    alive.fetch_sub(1);
    std::free(mine);
    return nullptr;
}

void make_threads()
{
    pthread_t threads[threads_each];
    while (!stop.load()) {
        std::atomic<bool> whole{false};
        unsigned count = 0;
        while (count < threads_each && pthread_create(&threads[count], nullptr, hold_a_moment, &whole) == 0) ++count;
        created.fetch_add(count);
        whole = true;
        while (count > 0) pthread_join(threads[--count], nullptr);
    }
}

} // namespace

int main()
{
    const heapmark::Generation g = heapmark::mark("churn");
    std::vector<std::thread> all;
    for (unsigned i = 0; i < makers; ++i) all.emplace_back(make_threads);
    std::size_t lost = 0;
    std::size_t incomplete = 0;
    std::size_t held = 0;
    std::size_t most_alive = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < explanations; ++i) {
        most_alive = std::max(most_alive, alive.load());
        const heapmark::Explanation why = heapmark::explain(heapmark::survivors(g));
        incomplete += why.complete() ? 0 : 1;
        lost += why.lost().size();
        held += why.held().size();
    }
    const auto elapsed =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
    stop = true;
    for (std::thread& thread : all) thread.join();
    std::printf("%u explanations in %lld ms, %zu threads created, %zu alive at once, %zu blocks held, %zu lost, %zu "
                "incomplete\n",
                explanations, static_cast<long long>(elapsed.count()), created.load(), most_alive, held, lost,
                incomplete);
    EXPECT_EQ(lost, 0);
    EXPECT_EQ(incomplete, 0);
    EXPECT(held > explanations);
    EXPECT(created.load() > 1000);
    EXPECT(most_alive > threads_each);
    return verdict();
}
